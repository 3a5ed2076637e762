"""Every configuration of a server, started with every prebuilt release that it claims.

The machine is said to have 8 cores and 2 GB, so memory and logs are those of a small one; all other
settings are the published ones. A setting that the server reports otherwise must be listed here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.machine.account import Account
from pipeline.machine.fingerprint import described
from pipeline.machine.ports import free_port
from pipeline.targets import find_target
from pipeline.targets.base import Placement, StartError
from tests.conftest import Release
from tests.targets.published_settings import comparable
from tests.targets.test_published_configurations import settings

RELEASES = {
    "postgres": ("9.6", "10", "11", "12", "13", "14", "15", "16", "17", "18"),
    "mysql": ("5.6", "9"),
    "mariadb": ("10.1", "10.2", "10.11", "11.4"),
}
"""The majors of prebuilt releases in package registries. MariaDB 10.3 to 10.6 are only in the
archive of its makers, so their configurations are checked as text."""

MEMORY_GB = 2

UNREPORTED = {
    # Options of the program without a variable.
    "ssl",
    "default_authentication_plugin",
    "mysql_native_password",
}

ABSENT = "no such setting"

DIFFERENCES: dict[tuple[str, str, str], str] = {
    # Since 5.6.27; the one prebuilt release is 5.6.24.
    ("mysql", "5.6", "innodb_numa_interleave"): ABSENT,
    # The server reports the highest format that its files have.
    ("mysql", "5.6", "innodb_file_format_max"): "Antelope",
    # Since 10.2.18; older releases accept and ignore it.
    ("mariadb", "10.2", "eq_range_index_dive_limit"): ABSENT,
    # Eight pools of whole chunks: the size is rounded up. Of small only.
    ("mariadb", "10.2", "innodb_buffer_pool_size"): str(2 << 30),
    # Options that some releases of a major do not know.
    ("mariadb", "10.1", "innodb_snapshot_isolation"): ABSENT,
    ("mariadb", "10.2", "innodb_snapshot_isolation"): ABSENT,
    ("mariadb", "10.11", "innodb_snapshot_isolation"): ABSENT,
    ("mariadb", "10.11", "innodb_log_write_ahead_size"): ABSENT,
    # Removed in 11.0.
    ("mariadb", "11.4", "innodb_change_buffering"): ABSENT,
}
"""What a server reports otherwise than it is configured, by target, major and setting."""

CLAIMS = [
    (target, name, major)
    for target, majors in RELEASES.items()
    for name, since in find_target(target).configs().items()
    for major in majors
    if tuple(map(int, since[0].split("."))) <= tuple(map(int, f"{major}.99".split(".")))
]


@pytest.mark.parametrize(("target", "name", "major"), CLAIMS)
def test_a_server_has_the_settings_of_its_configuration(
    target: str,
    name: str,
    major: str,
    releases_of: Callable[[str, str], Release],
    server_folder: Path,
    account: Account,
) -> None:
    release = releases_of(target, major)
    made, machine = find_target(target), described("tested", 8, MEMORY_GB)
    config = made.config(name, release.revision, machine)
    wanted = settings(target, name, release.revision.major, 8, MEMORY_GB)
    options = made.initial_options(config)
    made.template(release.build, server_folder / "template", account, options)
    placement = Placement(
        folder=server_folder / "run", port=free_port(), processors=(), account=account
    )
    if name == "x10d":
        with pytest.raises(StartError, match="this build has no io_uring; compile it with"):
            made.start(release.build, config, server_folder / "template", placement)
        return
    server = made.start(release.build, config, server_folder / "template", placement)
    try:
        reported = server.settings()
    finally:
        server.stop()
    different = {
        setting: (value, reported.get(setting, ABSENT))
        for setting, value in wanted.items()
        if setting not in UNREPORTED
        and comparable(setting, reported.get(setting, "")) != comparable(setting, value)
    }
    listed = {
        setting: DIFFERENCES.get((target, major, setting), "as configured") for setting in different
    }
    assert {setting: was for setting, (_, was) in different.items()} == listed, different
