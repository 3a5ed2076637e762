"""Configurations of one's own: a file, or a change of another configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config import ConfigFile
from pipeline.measure.server_configs import check_configs, server_config
from pipeline.model import Revision, Supply
from pipeline.text.errors import UserError
from tests.measure.samples import MACHINE

GIT = Supply(name="git", kind="git", coordinates="x", prebuilt=False, commits=True)


def mysql(version: str, supply: Supply | None = None, major: str = "") -> Revision:
    order = tuple(int(part) for part in version.split(".")) if supply is None else (7,)
    major = major or ".".join(version.split(".")[:2])
    return Revision(target="mysql", version=version, order=order, major=major, supply=supply)


def configured(folder: Path, text: str) -> ConfigFile:
    return ConfigFile(folder / "nightshift.toml", text)


def test_a_file_is_the_whole_configuration(tmp_path: Path) -> None:
    (tmp_path / "mine.cnf").write_text("[mysqld]\nsync_binlog = {1}\n")
    file = configured(tmp_path, '[[config]]\nname = "mine"\ntarget = "mysql"\nfile = "mine.cnf"\n')
    check_configs(file)
    made = server_config(file, "mine", mysql("8.4.7"), MACHINE)
    # Braces are the user's: nothing is scaled.
    assert (made.family, made.name) == ("mine", "mine_c2r8")
    assert made.text == "[mysqld]\nsync_binlog = {1}\n"


def test_a_published_configuration_can_be_changed_and_changed_again(tmp_path: Path) -> None:
    file = configured(
        tmp_path,
        """
[[config]]
name = "synced"
target = "mysql"
extends = "small_nogtid"
lines = ["sync_binlog = 1", "innodb_flush_log_at_trx_commit = 1"]

[[config]]
name = "tiny"
target = "mysql"
extends = "synced"
lines = ["innodb_buffer_pool_size = 128M"]
""",
    )
    check_configs(file)
    published = server_config(file, "small_nogtid", mysql("8.4.7"), MACHINE)
    tiny = server_config(file, "tiny", mysql("8.4.7"), MACHINE)
    assert published.name == "small_nogtid_c2r8"
    assert tiny.text.startswith(published.text.rstrip())
    assert tiny.text.splitlines()[-3:] == [
        "sync_binlog = 1",
        "innodb_flush_log_at_trx_commit = 1",
        "innodb_buffer_pool_size = 128M",
    ]
    # Another major has other files.
    assert server_config(file, "tiny", mysql("5.6.51"), MACHINE).text != tiny.text


RANGES = """
[[config]]
name = "mine"
target = "mysql"
extends = "small_nogtid"
until = "8.0.29"
lines = ["old = 1"]

[[config]]
name = "mine"
target = "mysql"
extends = "small_nogtid"
since = "8.0.30"
until = "9"
lines = ["new = 1"]
"""


@pytest.mark.parametrize(
    ("revision", "last"),
    [
        (mysql("5.7.44"), "old = 1"),
        (mysql("8.0.29"), "old = 1"),
        (mysql("8.0.30"), "new = 1"),
        (mysql("9.4.0"), "new = 1"),
        (mysql("0123abc", GIT, "8.0"), "new = 1"),
    ],
    ids=lambda value: getattr(value, "version", ""),
)
def test_a_version_has_the_configuration_of_its_range(
    tmp_path: Path, revision: Revision, last: str
) -> None:
    file = configured(tmp_path, RANGES)
    assert server_config(file, "mine", revision, MACHINE).text.splitlines()[-1] == last


def test_a_version_in_no_range_is_refused(tmp_path: Path) -> None:
    file = configured(tmp_path, RANGES)
    with pytest.raises(UserError, match=r"no \[\[config\]\] mine is for mysql 10\.1\.0"):
        server_config(file, "mine", mysql("10.1.0"), MACHINE)
    with pytest.raises(UserError, match=r"mysql has no config 'mime'; did you mean mine\?"):
        server_config(file, "mime", mysql("8.0.30"), MACHINE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('target = "mysqld"\nextends = "z12a"', "no target 'mysqld'; did you mean mysql"),
        ('target = "mysql"\nextends = "z12aa"', "no config 'z12aa'; did you mean z12a"),
        ('target = "mysql"\nfile = "none.cnf"', "none.cnf cannot be read"),
        ('target = "mysql"', "set either file, or extends together with lines"),
        ('target = "mysql"\nextends = "mine"', "cannot extend itself"),
        (
            'target = "mysql"\nextends = "z12a"\nlines = ["a\\nb"]',
            "an item of lines contains a line break",
        ),
        (
            'target = "mysql"\nextends = "two"\n[[config]]\nname = "two"\ntarget = "mysql"\n'
            'extends = "mine"',
            "mine extends two extends mine; remove one `extends`",
        ),
        (
            'target = "mysql"\nextends = "z12a"\n[[config]]\nname = "z12a"\ntarget = "mysql"\n'
            'extends = "z12a_gtid"',
            "z12a is a published configuration of mysql; choose another name",
        ),
    ],
)
def test_a_mistake_names_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=r"nightshift.toml:\d+: config") as refused:
        check_configs(configured(tmp_path, f'[[config]]\nname = "mine"\n{text}\n'))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
