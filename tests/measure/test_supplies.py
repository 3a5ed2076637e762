"""The archives of nightshift.toml as sources of a target."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config import ConfigFile, load_config
from pipeline.measure.discover import Offer, offers_of, revisions_of
from pipeline.measure.supplies import supplies_of
from pipeline.sources import source_for
from pipeline.targets import TARGETS
from pipeline.text.errors import UserError

DIGEST = "0123456789abcdef" * 4


def written(folder: Path, *archives: str) -> ConfigFile:
    path = folder / "nightshift.toml"
    path.write_text("\n".join(f"[[archive]]\n{archive}" for archive in archives))
    return load_config(path)


def archive(
    target: str, version: str, place: str = "https://x.org/a.tar.gz", more: str = ""
) -> str:
    return (
        f'target = "{target}"\nversion = "{version}"\naddress = "{place}"\nsha256 = "{DIGEST}"\n'
        f"{more}\n"
    )


def test_archives_come_after_the_sources_of_a_target(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        archive("mysql", "8.0.36", "mysql 8.0.36.tar.gz"),
        archive("mysql", "5.7.44"),
        archive("mysql", "8.0.36", more="prebuilt = true"),
        archive("mariadb", "10.6.4"),
    )
    *own, source, binary = supplies_of(file, "mysql")
    assert tuple(own) == TARGETS["mysql"].supplies
    assert (source.name, source.prebuilt) == ("archives", False)
    assert (binary.name, binary.prebuilt) == ("binary-archives", True)
    assert source.coordinates.splitlines() == [
        f"8.0.36 {DIGEST} {tmp_path}/mysql 8.0.36.tar.gz",
        f"5.7.44 {DIGEST} https://x.org/a.tar.gz",
    ]
    found = revisions_of(Offer("mysql", source), source_for(source, tmp_path / "cache").versions())
    assert [revision.version for revision in found] == ["5.7.44", "8.0.36"]
    assert supplies_of(file, "sqlite") == TARGETS["sqlite"].supplies


@pytest.mark.parametrize("target", list(TARGETS))
def test_every_target_reads_the_versions_of_archives(tmp_path: Path, target: str) -> None:
    version = "17.2" if target == "postgres" else "9.1.0"
    *_, supply = supplies_of(written(tmp_path, archive(target, version)), target)
    (revision,) = TARGETS[target].revisions(supply, [version])
    assert (revision.version, revision.locator) == (version, version)


def test_a_line_takes_archives(tmp_path: Path) -> None:
    file = written(tmp_path, archive("mysql", "8.0.36"))
    text = file.path.read_text()
    file.path.write_text(f'{text}\n[[line]]\nname = "a"\ntarget = "mysql"\nsource = "archives"\n')
    (offer,) = offers_of(load_config(file.path))
    assert (offer.target, offer.supply.kind) == ("mysql", "archive")


@pytest.mark.parametrize(
    ("archives", "message"),
    [
        ([archive("mysq", "8.0.36")], r"nightshift.toml:2: .*no target 'mysq'; did you mean mysql"),
        (
            [archive("mysql", "8.0.36"), archive("mysql", "8.0.36")],
            r"nightshift.toml:\d+: .*two \[\[archive\]\] tables have mysql 8.0.36; remove one",
        ),
        ([archive("mysql", "8")], "is not a release; write all its numbers"),
        ([archive("mysql", "8.0.1").replace(DIGEST, "x")], "is not a SHA-256"),
        ([archive("mysql", "8.0.1", "ftp://x.org/y")], "is not the place of an archive"),
        ([archive("mysql", "8.0.1", "https://me:word@x.org/y")], "is not the place of an archive"),
    ],
)
def test_a_wrong_archive_is_one_line(tmp_path: Path, archives: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        supplies_of(written(tmp_path, *archives), "mysql")
    assert "\n" not in str(error.value)
