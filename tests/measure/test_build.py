"""Builds, made once: of a small C program by real git, gcc and ccache, and of a shelf of tars."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Generator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.machine.account import Account
from pipeline.measure.build import OFFICIAL, Builder, NotBuiltError, Patch, identical
from pipeline.measure.discover import Offer, revisions_of
from pipeline.measure.layouts import FLAGS, with_layout
from pipeline.measure.progress import Silent
from pipeline.measure.run import Builds, build_all, build_key, save_builds, unbuilt
from pipeline.model import BuildOptions, Cell, Revision, Supply
from pipeline.sources import source_for
from pipeline.sources.base import Fetched
from pipeline.targets.base import Compilation, Identity, Recipe
from pipeline.targets.base.archives import ArchiveMember, source_members
from pipeline.text.errors import UserError
from tests.measure.samples import cell

PROGRAM = """\
#include <stdio.h>
int main(void) { printf("small %d\\n", VERSION); return 0; }
"""
O2 = "rel_o2nofp"
SHELF = Supply(name="shelf", kind="shelf", coordinates="")


@dataclass
class Small:
    """A target: one C program, compiled, or packed in a tar."""

    name: str = "postgres"
    compiled: list[str] = field(default_factory=list)

    def members(self, supply: Supply, archive: Path) -> Generator[ArchiveMember]:
        return source_members(archive)

    def recipe(self, work: Compilation) -> Recipe:
        self.compiled.append(work.revision.version)
        command = (*work.compiler.split(), *work.flags.split(), *work.options.configure)
        return Recipe(
            commands=(
                (*command, "-c", "small.c", "-o", "small.o"),
                (*command, "small.o", "-o", "small"),
            ),
            copies=(("small", "bin/small"),),
        )

    def identify(self, home: Path) -> Identity:
        program = home / "bin/small"
        if not program.exists():
            raise UserError("the archive holds no bin/small")
        said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        return Identity(program=program, folders=("bin",), version=said.strip())


class Shelf:
    """A source of tars that can be out of reach, or damaged."""

    name = "the shelf"

    def __init__(self, folder: Path) -> None:
        self.folder, self.broken = folder, ""
        self.at = datetime.fromtimestamp(0, UTC)

    def fetch(self, version: str, cache: Path) -> Fetched:
        if self.broken:
            raise UserError(self.broken)
        path = self.folder / f"{version}.tar"
        with tarfile.open(path, "w") as tar:
            script = f"#!/bin/sh\necho small {version}\n".encode()
            info = tarfile.TarInfo("bin/small")
            info.size, info.mode = len(script), 0o755
            info.mtime = int(self.at.timestamp())
            tar.addfile(info, io.BytesIO(script))
            other = tarfile.TarInfo("share/x")
            tar.addfile(other, io.BytesIO(b""))
        return Fetched(path=path, locator=version, sha256=version)


@dataclass
class Repository:
    """A git repository with the program in it."""

    folder: Path

    def commit(self, **files: str) -> str:
        for name, text in files.items():
            (self.folder / name.replace("_", ".")).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", "x")
        return self.git("rev-parse", "HEAD")

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=x", "-c", "user.email=x", "-c", "init.defaultBranch=main")
        return subprocess.run(
            ["git", *identity, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    def revision(self, commit: str, cache: Path) -> Revision:
        supply = Supply(
            name="git", kind="git", coordinates=str(self.folder), prebuilt=False, commits=True
        )
        offer = Offer("postgres", supply)
        found = revisions_of(offer, source_for(supply, cache, max_age=0.0).versions())
        (revision,) = (each for each in found if each.locator == commit)
        return revision


@pytest.fixture
def cache(server_folder: Path) -> Path:
    return server_folder / "cache"


@pytest.fixture
def shelf(server_folder: Path) -> Shelf:
    return Shelf(server_folder)


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch, shelf: Shelf) -> Small:
    small = Small()
    real = source_for
    monkeypatch.setattr("pipeline.measure.build.find_target", lambda _: small)
    monkeypatch.setattr(
        "pipeline.measure.build.source_for",
        lambda supply, cache: shelf if supply.kind == "shelf" else real(supply, cache),
    )
    return small


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    for tool in ("git", "gcc", "ccache", "patch"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    made = Repository(tmp_path / "repository")
    made.folder.mkdir()
    made.git("init", "-q")
    return made


@pytest.fixture
def builder(cache: Path, account: Account, target: Small) -> Builder:
    return Builder(cache, account)


def released(version: str, copy: int = 1) -> Revision:
    return Revision(
        target="postgres", version=version, order=(1,), major="1", supply=SHELF, copy_number=copy
    )


# --- prebuilt ---------------------------------------------------------------------------


def test_a_build_is_had_once_and_found_again(builder: Builder, shelf: Shelf) -> None:
    assert builder.find(released("1.0"), "official") is None
    first = builder.obtain(released("1.0"), "official")
    shelf.broken = "out of reach"
    assert builder.obtain(released("1.0"), "official") == first
    assert builder.find(released("1.0"), "official") == first
    assert (first.home / "bin/small").exists()
    assert first.provenance.reported_version == "small 1.0"


def test_a_control_shares_the_build_of_what_it_copies(builder: Builder) -> None:
    first = builder.obtain(released("1.0"), "official")
    assert builder.find(released("1.0", copy=2), "official") == first


def test_an_install_that_was_cut_short_is_done_again(builder: Builder) -> None:
    home = builder.obtain(released("1.0"), "official").home
    for path in (home / ".build.json", *home.parent.glob("*.json")):
        path.unlink()
    (home / "bin/small").unlink()
    assert (builder.obtain(released("1.0"), "official").home / "bin/small").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": "of something else"}'])
def test_a_record_that_does_not_fit_is_no_build(builder: Builder, text: str) -> None:
    build = builder.obtain(released("1.0"), "official")
    (record,) = build.home.parent.glob("*.json")
    record.write_text(text)
    assert builder.find(released("1.0"), "official") is None
    assert builder.obtain(released("1.0"), "official") == build


def test_options_and_source_have_to_fit(builder: Builder) -> None:
    with pytest.raises(UserError, match="is prebuilt: its build options are 'official'"):
        builder.obtain(released("1.0"), O2)
    source = SHELF.model_copy(update={"prebuilt": False})
    revision = released("1.0").model_copy(update={"supply": source})
    with pytest.raises(UserError, match="is source code: choose build options other than"):
        builder.obtain(revision, "official")
    with pytest.raises(UserError, match=r"no build options 'rel_o2'; did you mean rel_o2nofp\?"):
        builder.obtain(revision, "rel_o2")


def test_a_release_was_made_when_its_archive_says(builder: Builder, shelf: Shelf) -> None:
    assert builder.obtain(released("1.0"), "official").provenance.made is None, "0 is no time"
    shelf.at = datetime(2024, 2, 8, 12, 30, 5, tzinfo=UTC)
    first = builder.obtain(released("1.1"), "official")
    assert first.provenance.made == shelf.at
    assert builder.find(released("1.1"), "official") == first, "it is kept in the record"


# --- compiled ---------------------------------------------------------------------------


def test_a_commit_is_compiled_once_and_its_provenance_is_exact(
    builder: Builder, target: Small, repository: Repository, cache: Path
) -> None:
    commit = repository.commit(small_c=PROGRAM.replace("VERSION", "1"))
    revision = repository.revision(commit, cache)
    build = builder.obtain(revision, O2)
    assert builder.obtain(revision, O2) == build
    assert target.compiled == [commit[:12]]
    known = build.provenance
    assert known.reported_version == "small 1"
    assert known.commit == commit
    assert known.locator == f"{repository.folder}@{commit}"
    assert known.flags == "-O2 -fno-omit-frame-pointer"
    assert "gcc" in known.compiler.lower()
    assert any(name.startswith("libc.so") for name in known.libraries)
    assert (build.home / "bin/small").stat().st_uid == os.geteuid(), "servers cannot change it"
    assert "-O2 -fno-omit-frame-pointer" in builder.log(revision, O2).read_text()
    assert not list(cache.glob("downloads/*")), "what is cheap to make again is not kept"
    assert [path.name for path in (cache / "compile").iterdir()] == ["0.lock"]


def test_a_tag_was_made_with_its_commit_and_of_a_commit_the_revision_knows(
    builder: Builder, repository: Repository, cache: Path
) -> None:
    commit = repository.commit(small_c=PROGRAM.replace("VERSION", "1"))
    repository.git("tag", "REL_1_0")
    revision = repository.revision(commit, cache)
    assert builder.obtain(revision, O2).provenance.made is None
    repository.commit(small_c=PROGRAM.replace("VERSION", "2"))
    repository.git("tag", "REL_2_0")
    supply = Supply(name="tags", kind="tags", coordinates=str(repository.folder), prebuilt=False)
    tag = released("2.0").model_copy(update={"supply": supply, "locator": "REL_2_0"})
    seconds = int(repository.git("log", "-1", "--format=%ct"))
    assert builder.obtain(tag, O2).provenance.made == datetime.fromtimestamp(seconds, UTC)


def test_commits_of_equal_code_are_the_same_binary(
    builder: Builder, target: Small, repository: Repository, cache: Path
) -> None:
    code = PROGRAM.replace("VERSION", "1")
    commits = [
        repository.commit(small_c=code),
        repository.commit(small_c=code, README="more words"),
        repository.commit(small_c=code + "/* a word */\n"),
        repository.commit(small_c=code.replace("1)", "2)")),
        repository.commit(small_c=code),
    ]
    builds = [builder.obtain(repository.revision(commit, cache), O2) for commit in commits]
    assert [build.hash == builds[0].hash for build in builds] == [True, True, True, False, True]
    assert len(target.compiled) == 4, "the last has the files of the second"
    (group,) = identical(builds)
    assert [build.version for build in group] == [commits[at][:12] for at in (0, 1, 2, 4)]


def test_equal_trees_are_compiled_once(
    builder: Builder, target: Small, repository: Repository, cache: Path
) -> None:
    first = repository.commit(small_c=PROGRAM.replace("VERSION", "1"))
    repository.commit(small_c=PROGRAM.replace("VERSION", "2"))
    again = repository.commit(small_c=PROGRAM.replace("VERSION", "1"))
    one = builder.obtain(repository.revision(first, cache), O2)
    other = builder.obtain(repository.revision(again, cache), O2)
    assert target.compiled == [first[:12]]
    assert one.home == other.home
    assert other.version == again[:12]
    assert other.provenance.commit == again


def test_options_make_builds_of_their_own(
    cache: Path, account: Account, target: Small, repository: Repository
) -> None:
    options = {
        name: BuildOptions(name=name, configure=(f"-DVERSION={at}",))
        for at, name in enumerate(("zero", "one"))
    }
    builder = Builder(cache, account, options=options)
    revision = repository.revision(repository.commit(small_c=PROGRAM), cache)
    builds = [builder.obtain(revision, name) for name in options]
    assert [build.provenance.reported_version for build in builds] == ["small 0", "small 1"]
    changed = BuildOptions(name="zero", configure=("-DVERSION=7",))
    other = Builder(cache, account, options={"zero": changed})
    assert other.find(revision, "zero") is None, "the name is the same, what it means is not"
    assert other.obtain(revision, "zero").provenance.reported_version == "small 7"


def test_a_layout_is_a_build_of_its_own_with_more_flags(
    cache: Path, account: Account, target: Small, repository: Repository
) -> None:
    options = {O2: BuildOptions(name=O2, configure=("-DVERSION=1",))}
    builder = Builder(cache, account, options=options)
    revision = repository.revision(repository.commit(small_c=PROGRAM), cache)
    plain, laid = (builder.obtain(revision, name) for name in (O2, with_layout(O2, 2)))
    assert laid.provenance.flags == f"{plain.provenance.flags} {FLAGS[1]}"
    assert laid.home != plain.home
    assert laid.options == "rel_o2nofp~2"
    with pytest.raises(UserError, match="no build options 'other~1'"):
        builder.obtain(revision, "other~1")


def test_a_layout_of_an_official_binary_is_a_copy_of_it(builder: Builder, target: Small) -> None:
    one, copy = (builder.obtain(released("1"), name) for name in (OFFICIAL, "official~1"))
    assert copy.home != one.home
    assert copy.hash == one.hash
    with pytest.raises(UserError, match="is prebuilt"):
        builder.obtain(released("1"), "rel_o2nofp~1")


def test_a_revision_that_does_not_build_is_a_recorded_fact(
    builder: Builder, target: Small, repository: Repository, cache: Path
) -> None:
    bad = repository.revision(repository.commit(small_c="int main(void) { return x; }\n"), cache)
    for _ in range(2):
        with pytest.raises(
            NotBuiltError, match=r"small\.c:1:\d+: error: .*x.*; the build log is /"
        ):
            builder.obtain(bad, O2)
    assert len(target.compiled) == 1, "it is not tried again every night"
    assert builder.find(bad, O2) is None
    assert "error" in builder.log(bad, O2).read_text()
    builder.forget(bad, O2)
    with pytest.raises(NotBuiltError):
        builder.obtain(bad, O2)
    assert len(target.compiled) == 2


def test_a_build_that_leaves_no_program_has_failed(
    builder: Builder, target: Small, repository: Repository, cache: Path
) -> None:
    revision = repository.revision(repository.commit(small_c=PROGRAM), cache)
    target.recipe = lambda work: Recipe(commands=(), copies=(("small", "bin/small"),))  # type: ignore[method-assign]
    with pytest.raises(NotBuiltError, match="the build produced no small"):
        builder.obtain(revision, O2)


def test_a_patch_is_applied_to_its_range(
    cache: Path, account: Account, target: Small, repository: Repository
) -> None:
    commit = repository.commit(small_c=PROGRAM)
    revision = repository.revision(commit, cache)
    text = "--- a/small.c\n+++ b/small.c\n@@ -1,2 +1,3 @@\n+#define VERSION 9\n" + "".join(
        f" {line}\n" for line in PROGRAM.splitlines()
    )
    patch = Patch(target="postgres", name="version.patch", text=text)
    build = Builder(cache, account, patches=[patch]).obtain(revision, O2)
    assert build.provenance.reported_version == "small 9"
    assert len(build.provenance.patches) == 1
    other = patch.model_copy(update={"text": text.replace("int main", "int other")})
    with pytest.raises(NotBuiltError, match=r"the patch version\.patch does not apply: "):
        Builder(cache, account, patches=[other]).obtain(revision, O2)
    release = released("3.20")
    release = release.model_copy(update={"order": (3, 20, 1)})
    for since, until, applies in (
        ((), (), True),
        ((3, 20), (), True),
        ((3, 21), (), False),
        ((), (3, 20), True),
        ((), (3, 19), False),
        ((3,), (3,), True),
    ):
        ranged = patch.model_copy(update={"since": since, "until": until})
        assert ranged.applies(release) is applies, (since, until)
        assert ranged.applies(revision) is not (since or until)


def test_a_missing_compiler_is_one_line(
    cache: Path, account: Account, target: Small, repository: Repository
) -> None:
    options = {"x": BuildOptions(name="x", compiler="gcc-of-nobody")}
    revision = repository.revision(repository.commit(small_c=PROGRAM), cache)
    with pytest.raises(UserError, match="the compiler gcc-of-nobody of the build options 'x'"):
        Builder(cache, account, options=options).obtain(revision, "x")


def test_a_full_disk_is_no_fact_of_the_revision(
    builder: Builder, target: Small, repository: Repository, cache: Path
) -> None:
    revision = repository.revision(
        repository.commit(small_c=PROGRAM.replace("VERSION", "1")), cache
    )
    says = Recipe(commands=(("sh", "-c", "echo 'as: No space left on device' >&2; exit 1"),))
    real = target.recipe
    target.recipe = lambda work: says  # type: ignore[method-assign]
    with pytest.raises(UserError, match=r"no space left for a build in .*; free some"):
        builder.obtain(revision, O2)
    target.recipe = real  # type: ignore[method-assign]
    assert builder.obtain(revision, O2).provenance.reported_version == "small 1"


@pytest.mark.parametrize("size", ["300k", "1m", "3m", "5m"])
def test_a_really_full_disk_leaves_nothing_behind(
    server_folder: Path, account: Account, target: Small, repository: Repository, size: str
) -> None:
    """The object has 2 MB and the program as well: the disk is full in one place or another."""
    disk = server_folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        disk.chmod(0o755)
        code = "char large[2000000] = {1};\n" + PROGRAM.replace("VERSION", "large[0]")
        revision = repository.revision(repository.commit(small_c=code), server_folder)
        builder = Builder(disk, account)
        for _ in range(2):
            with pytest.raises(UserError, match=r"no space left|No space left") as error:
                builder.obtain(revision, O2)
            assert "\n" not in str(error.value)
            assert not list(disk.glob("compile/*/*"))
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        assert builder.obtain(revision, O2).provenance.reported_version == "small 1"
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_killed_compiler_leaves_nothing(
    builder: Builder, target: Small, repository: Repository, cache: Path
) -> None:
    revision = repository.revision(repository.commit(small_c=PROGRAM), cache)
    target.recipe = lambda work: Recipe(commands=(("sh", "-c", "kill -9 $$"),))  # type: ignore[method-assign]
    with pytest.raises(NotBuiltError, match="sh: ended by SIGKILL"):
        builder.obtain(revision, O2)
    assert [path.name for path in (cache / "compile").iterdir()] == ["0.lock"]


# --- the cache --------------------------------------------------------------------------


def test_what_was_not_used_for_longest_leaves_first(
    cache: Path, account: Account, target: Small
) -> None:
    first = Builder(cache, account)
    homes = [first.obtain(released(version), "official").home for version in ("1", "2", "3")]
    for at, home in enumerate(homes):
        os.utime(home, (at, at))
    size = sum(path.stat().st_size for path in homes[0].rglob("*") if path.is_file())
    later = Builder(cache, account, limit=3 * size + size // 2)
    later.find(released("1"), "official")
    last = later.obtain(released("4"), "official").home
    assert [home.exists() for home in (*homes, last)] == [True, False, True, True]
    assert later.find(released("2"), "official") is None
    assert later.obtain(released("2"), "official").home == homes[1]


def test_what_is_in_use_stays_whatever_the_limit(
    cache: Path, account: Account, target: Small
) -> None:
    builder = Builder(cache, account, limit=0)
    homes = [builder.obtain(released(version), "official").home for version in ("1", "2")]
    assert all(home.exists() for home in homes)


# --- the builds of a night --------------------------------------------------------------


def planned(revision: Revision, options: str = "official") -> Cell:
    return cell().model_copy(update={"revision": revision, "build_options": options})


class Reporter(Silent):
    """The notes that a watcher got."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self, stage: str, total: float) -> None:
        self.lines.append(f"begin {stage} {total:g}")

    def advance(self, amount: float, left: float | None = None) -> None:
        assert left is None
        self.lines.append(f"advance {amount:g}")

    def end(self) -> None:
        self.lines.append("end")


def test_builds_are_reported_to_the_watcher_once(builder: Builder, shelf: Shelf) -> None:
    reported = Reporter()
    cells = [planned(released("1")), planned(released("2")), planned(released("2", copy=2))]
    builds = build_all(cells, builder, reported)
    assert sorted(build.version for build in builds.made.values()) == ["1", "2"]
    assert reported.lines == ["begin build 2", "advance 1", "advance 1", "end"]
    again = Reporter()
    assert build_all(cells, builder, again) == builds
    assert again.lines == []


def test_one_that_cannot_be_had_does_not_hold_up_the_others(
    builder: Builder, repository: Repository, cache: Path
) -> None:
    good = repository.revision(repository.commit(small_c=PROGRAM.replace("VERSION", "1")), cache)
    bad = repository.revision(repository.commit(small_c="no C\n"), cache)
    builds = build_all([planned(bad, O2), planned(good, O2)], builder, Silent())
    assert [build.version for build in builds.made.values()] == [good.version]
    (why,) = builds.failures.values()
    assert why.startswith(f"the build of postgres {bad.version} failed: ")
    cells = [planned(bad, O2), planned(good, O2)]
    save_builds(builds, cache / "results")
    assert unbuilt(cache / "results", cells) == {cells[0].key: why}
    fixed = Builds({build_key(cells[0]): next(iter(builds.made.values()))}, {})
    save_builds(fixed, cache / "results")
    assert unbuilt(cache / "results", cells) == {}
    (cache / "results/builds.json").write_text("{")
    assert unbuilt(cache / "results", cells) == {}


def test_a_source_out_of_reach_says_nothing_of_a_revision(builder: Builder, shelf: Shelf) -> None:
    shelf.broken = "the shelf cannot be reached; check the network"
    reported = Reporter()
    builds = build_all([planned(released("1"))], builder, reported)
    (why,) = builds.failures.values()
    assert why == "the build of postgres 1 failed: the shelf cannot be reached; check the network"
    assert reported.lines == ["begin build 1", "advance 1", "end"]
    shelf.broken = ""
    assert build_all([planned(released("1"))], builder, reported).made


def test_builds_at_once_have_folders_of_their_own(
    cache: Path, account: Account, target: Small, repository: Repository
) -> None:
    revisions = [
        repository.revision(
            repository.commit(small_c=PROGRAM.replace("VERSION", str(number))), cache
        )
        for number in range(4)
    ]
    builder = Builder(cache, account, at_once=2)
    builds = build_all([planned(revision, O2) for revision in revisions], builder, Silent())
    said = {build.version: build.provenance.reported_version for build in builds.made.values()}
    assert said == {revision.version: f"small {at}" for at, revision in enumerate(revisions)}
