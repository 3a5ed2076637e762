"""Whole DBMSs compiled from source code, then measured. They take minutes: `make test-slow`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pipeline.sources import source_for
from pipeline.storage.bundle import read_bundle
from pipeline.targets import TARGETS
from pipeline.text.errors import UserError
from tests.nights import leftovers, make_night
from tests.repositories import git


def source_package(target: str, major: str, cache: Path) -> tuple[str, Path]:
    """Return the newest release of a major that Debian has as source code, and its archive.

    Skip the test if there is none. An archive can be gone while its suite still lists it.
    """
    supply = next(each for each in TARGETS[target].supplies if each.name == "debian-source")
    source = source_for(supply, cache)
    known = TARGETS[target].revisions(supply, source.versions())
    reason = "no suite has it"
    for revision in reversed(known):
        if f"{revision.major}.".startswith(f"{major}."):
            try:
                archive = source.fetch(revision.locator, cache / "downloads")
            except UserError as error:
                reason = str(error)
            else:
                return revision.version, archive.path
    pytest.skip(f"there is no source package of {target} {major}: {reason}")


@pytest.mark.parametrize(
    ("target", "config", "major", "reported"),
    [
        ("postgres", "x10a", "15", "postgres (PostgreSQL) {}"),
        # The server alone takes 18 minutes of processor time.
        ("mariadb", "small", "10.11", "mariadbd  Ver {}-MariaDB"),
        # Several times as long.
        ("mysql", "small", "9", "mysqld  Ver {} "),
        # Its tree makes the amalgamation first, which the crates bring.
        ("sqlite", "wal", "3.40", "{} 20"),
    ],
)
def test_a_debian_source_package(
    tmp_path: Path, cache: Path, target: str, config: str, major: str, reported: str
) -> None:
    version, _ = source_package(target, major, cache)
    night = make_night(
        tmp_path / "night",
        revisions=[version],
        steps=["point-query", "update-index"],
        target=target,
        config=config,
    )
    file = night.folder / "nightshift.toml"
    chosen = f'target = "{target}"\nsource = "debian-source"\nbuild = "rel_o2nofp"'
    file.write_text(file.read_text().replace(f'target = "{target}"', chosen))
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


SUBMODULES = ("libmariadb", "extra/wolfssl/wolfssl")
"""The submodules of MariaDB's repository that its server is built with."""


def commit_all(folder: Path, subject: str) -> str:
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message", subject)
    return git(folder, "rev-parse", "HEAD")


def repository_of(tree: Path, parts: Path) -> list[str]:
    """Make a repository of a tree of MariaDB, with submodules, and return its commits.

    The second adds a function to the server, the third changes no code.
    """
    lists = []
    for path in SUBMODULES:
        part = parts / path.replace("/", "-")
        part.parent.mkdir(exist_ok=True)
        (tree / path).rename(part)
        git(part, "init", "--quiet")
        linked = commit_all(part, path)
        lists.append((path, part.name, linked))
    git(tree, "init", "--quiet")
    (tree / ".gitmodules").write_text(
        "".join(
            f'[submodule "{path}"]\n\tpath = {path}\n\turl = ../parts/{name}\n'
            for path, name, _ in lists
        )
    )
    git(tree, "add", "--all", "--force")
    for path, _, linked in lists:
        git(tree, "update-index", "--add", "--cacheinfo", f"160000,{linked},{path}")
    git(tree, "commit", "--quiet", "--message", "release")
    commits = [git(tree, "rev-parse", "HEAD")]
    for name, added in (("sql/main.cc", "int planted() { return 24; }\n"), ("README.md", "x\n")):
        with (tree / name).open("a") as file:
            file.write(added)
        git(tree, "commit", "--quiet", "--message", name, name)
        commits.append(git(tree, "rev-parse", "HEAD"))
    return commits


def test_commits_of_mariadb_with_submodules(tmp_path: Path, cache: Path) -> None:
    """A commit between two is built from a git repository, and measured.

    The tree is that of the release in Debian's source package, as the repository is too large.
    """
    _, archive = source_package("mariadb", "10.11", cache)
    tree = tmp_path / "server"
    tree.mkdir()
    unpack = ["tar", "--extract", "--no-same-owner", "--strip-components=1", "--file", str(archive)]
    subprocess.run(unpack, cwd=tree, check=True)
    commits = repository_of(tree, tmp_path / "parts")
    night = make_night(
        tmp_path / "night",
        revisions=[commit[:12] for commit in commits[:2]],
        steps=["point-query", "update-index"],
        target="mariadb",
        config="small",
    )
    file = night.folder / "nightshift.toml"
    where = f'target = "mariadb"\nsource = "git"\nrepository = "{tree}"\nmajor = "10.11"'
    file.write_text(file.read_text().replace('target = "mariadb"', where))
    assert [each["revisions"] for each in night.json("discover")] == [
        [commit[:12] for commit in commits]
    ]
    (built,) = night.json("build", "mariadb", commits[1], "--repository", str(tree))
    assert built["provenance"]["commit"] == commits[1]
    assert built["provenance"]["reported_version"].startswith("mariadbd  Ver 10.11.")
    night.run("nightly")
    heads = [read_bundle(path).manifest for path in night.folder.glob("results/bundles/*.tar.zst")]
    assert {head.build.provenance.commit for head in heads} == set(commits[:2])
    assert len({head.build.hash for head in heads}) == 2, "the planted function is in one of them"
    assert all(step.status == "ok" for head in heads for step in head.steps)
    again = night.json("build", "mariadb", commits[2], "--repository", str(tree))
    assert again[0]["hash"] == built["hash"], "a changed README is the same program"
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
