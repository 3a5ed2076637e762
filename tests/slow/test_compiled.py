"""Whole DBMSs compiled from source code, then measured. They take minutes: `make test-slow`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.storage.bundle import read_bundle
from tests.nights import leftovers, make_night


@pytest.mark.parametrize(
    ("target", "config", "major", "reported"),
    [
        ("postgres", "x10a", "15", "postgres (PostgreSQL) {}"),
        # The server alone takes 18 minutes of processor time.
        ("mariadb", "small", "10.11", "mariadbd  Ver {}-MariaDB"),
        # Its tree makes the amalgamation first, which the crates bring.
        ("sqlite", "wal", "3.40", "{} 20"),
    ],
)
def test_a_debian_source_package(
    tmp_path: Path, cache: Path, target: str, config: str, major: str, reported: str
) -> None:
    night = make_night(
        tmp_path / "night",
        revisions=[],
        steps=["point-query", "update-index"],
        target=target,
        config=config,
    )
    file = night.folder / "nightshift.toml"
    chosen = (
        'source = "debian-source"\nbuild = "rel_o2nofp"\n'
        f'since = "{major}"\nuntil = "{major}"\nnewest = 1'
    )
    file.write_text(file.read_text().replace("revisions = []", chosen))
    found = night.json("discover")
    if not found[0]["revisions"]:
        pytest.skip(f"no suite has a source package of {target} {major}")
    night.run("nightly")
    (path,) = (night.folder / "results/bundles").glob("*.tar.zst")
    head = read_bundle(path).manifest
    known = head.build.provenance
    assert known.reported_version.startswith(reported.format(head.revision.version))
    assert known.flags == "-O2 -fno-omit-frame-pointer"
    assert known.options == "rel_o2nofp"
    assert "gcc" in known.compiler.lower()
    assert "libc.so.6" in known.libraries
    assert [step.status for step in head.steps] == ["ok", "ok"]
    assert all(value > 0 for *_, metric, value in night.rows() if metric == "qps")
    assert leftovers(cache) == []


def test_rocksdb_from_its_crate(tmp_path: Path, cache: Path) -> None:
    """The longest of all: 370 files of C++, a quarter of an hour on two processors."""
    night = make_night(
        tmp_path / "night",
        revisions=["9.9.3"],
        steps=["all"],
        target="rocksdb",
        config="byrx",
        more='family = "db_bench"\n',
    )
    config = night.folder / "nightshift.toml"
    config.write_text(
        config.read_text()
        .replace('target = "rocksdb"', 'target = "rocksdb"\nsource = "crate"')
        .replace("rows = 5000", "rows = 1000000")
    )
    if not night.json("discover")[0]["revisions"]:
        pytest.skip("the registry has no crate of RocksDB 9.9.3")
    night.run("nightly")
    (path,) = (night.folder / "results/bundles").glob("*.tar.zst")
    bundle = read_bundle(path)
    head = bundle.manifest
    assert head.build.provenance.reported_version == "db_bench version 9.9.3"
    assert head.build.provenance.options == "rel_o2nofp"
    assert head.build.provenance.locator == "librocksdb-sys 0.17.1+9.9.3"
    assert "librocksdb" not in " ".join(head.build.provenance.libraries), "it is linked in"
    for step in head.steps:
        assert step.status == "ok", step.note
        assert b"Assertions are enabled" not in bundle.files[f"{step.folder}/stdout.txt"]
    assert all(value > 0 for *_, metric, value in night.rows() if metric == "qps")
    assert leftovers(cache) == []
