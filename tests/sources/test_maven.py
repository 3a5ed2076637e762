from __future__ import annotations

import errno
import hashlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.sources.base import Fetched
from pipeline.sources.base.http import ATTEMPTS
from pipeline.sources.cached import CachedVersions
from pipeline.sources.maven import MavenSource, parse_versions
from pipeline.targets.postgres import Postgres
from pipeline.text.errors import UserError
from tests.fakes.site import Site, Sleeps
from tests.ports import free_port

JAR = bytes(range(256)) * 1024
FOLDER = "/org/example/thing"
FILE = f"{FOLDER}/1.2.0/thing-1.2.0.jar"
METADATA = (
    b"<?xml version='1.0'?><!-- a comment --><metadata><versioning><versions>"
    b"<version>1.2.0</version><version> 1.10.0 </version></versions></versioning></metadata>"
)


@pytest.fixture
def registry() -> Iterator[Site]:
    site = Site()
    site.files = {
        f"{FOLDER}/maven-metadata.xml": METADATA,
        FILE: JAR,
        f"{FILE}.sha256": hashlib.sha256(JAR).hexdigest().encode(),
    }
    with site.serving():
        yield site


@pytest.fixture
def sleeps() -> Sleeps:
    return Sleeps()


@pytest.fixture
def source(registry: Site, sleeps: Sleeps) -> MavenSource:
    return MavenSource("org.example:thing", base=registry.base, sleep=sleeps)


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.endswith(".lock")}


def one_line(error: pytest.ExceptionInfo[UserError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert "://" not in text, "a message is for reading, not an address"
    return text


def test_versions_come_in_the_order_of_the_metadata(source: MavenSource, registry: Site) -> None:
    assert source.versions() == ("1.2.0", "1.10.0")
    assert registry.agents == {"nightshift (performance regression pipeline)"}


def test_a_fetched_file_is_whole_and_says_where_it_came_from(
    source: MavenSource, tmp_path: Path
) -> None:
    fetched = source.fetch("1.2.0", tmp_path / "new")
    assert fetched.path.read_bytes() == JAR
    assert fetched.sha256 == hashlib.sha256(JAR).hexdigest()
    assert fetched.locator == "org.example:thing:1.2.0"
    assert left_in(tmp_path / "new") == {"thing-1.2.0.jar", "thing-1.2.0.jar.sha256"}


def test_a_cached_file_is_not_asked_for_again(
    source: MavenSource, registry: Site, tmp_path: Path
) -> None:
    first = source.fetch("1.2.0", tmp_path)
    asked = len(registry.asked)
    assert source.fetch("1.2.0", tmp_path) == first
    assert len(registry.asked) == asked


@pytest.mark.parametrize("damage", ["jar", "sum", "lost sum"])
def test_a_damaged_cache_is_downloaded_anew(
    source: MavenSource,
    registry: Site,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    damage: str,
) -> None:
    path = source.fetch("1.2.0", tmp_path).path
    recorded = path.with_name(f"{path.name}.sha256")
    if damage == "jar":
        path.write_bytes(JAR[:100])
    elif damage == "sum":
        recorded.write_bytes(b"\xff\xfe nonsense")
    else:
        recorded.unlink()
    with caplog.at_level(logging.WARNING):
        assert source.fetch("1.2.0", tmp_path).path.read_bytes() == JAR
    assert [record.getMessage() for record in caplog.records] == [
        f"{path} is damaged; downloading it again"
    ]
    assert registry.asked_for(FILE) == 2


@pytest.mark.parametrize("kind", ["sha512", "sha1"])
def test_older_checksums_serve_where_there_is_no_sha256(
    source: MavenSource, registry: Site, tmp_path: Path, kind: str
) -> None:
    del registry.files[f"{FILE}.sha256"]
    digits = hashlib.new(kind, JAR).hexdigest()
    registry.files[f"{FILE}.{kind}"] = f"{digits.upper()}  thing-1.2.0.jar\n".encode()
    assert source.fetch("1.2.0", tmp_path).sha256 == hashlib.sha256(JAR).hexdigest()
    registry.files[f"{FILE}.{kind}"] = digits[::-1].encode()
    with pytest.raises(UserError, match=f"its {kind} differs from the published one"):
        source.fetch("1.2.0", tmp_path / "other")


@pytest.mark.parametrize("fault", ["503", "500", "429", "truncated", "flipped"])
def test_a_passing_fault_is_asked_over(
    source: MavenSource, registry: Site, sleeps: Sleeps, tmp_path: Path, fault: str
) -> None:
    registry.faults[FILE] = [fault, fault]
    assert source.fetch("1.2.0", tmp_path).path.read_bytes() == JAR
    assert sleeps == [1.0, 2.0]


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("503", "answered 503"),
        ("truncated", "the connection was closed"),
        ("flipped", "its sha256 differs from the published one"),
    ],
)
def test_a_lasting_fault_is_one_line_and_leaves_nothing(
    source: MavenSource,
    registry: Site,
    sleeps: Sleeps,
    tmp_path: Path,
    fault: str,
    complaint: str,
) -> None:
    registry.faults[FILE] = [fault] * 10
    with pytest.raises(UserError) as error:
        source.fetch("1.2.0", tmp_path)
    assert complaint in one_line(error)
    assert left_in(tmp_path) == set()
    assert registry.asked_for(FILE) == ATTEMPTS
    assert len(sleeps) == ATTEMPTS - 1


def test_a_refusal_is_not_asked_over(
    source: MavenSource, registry: Site, sleeps: Sleeps, tmp_path: Path
) -> None:
    registry.faults[f"{FILE}.sha256"] = ["403"]
    with pytest.raises(UserError, match="answered 403"):
        source.fetch("1.2.0", tmp_path)
    assert sleeps == []


def test_an_unknown_version_says_so(source: MavenSource, tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        source.fetch("9.9.9", tmp_path)
    assert "has no thing-9.9.9.jar" in one_line(error)


@pytest.mark.parametrize("version", ["../../etc/passwd", "1/2", "", ".hidden", "1 2"])
def test_a_version_that_is_a_path_is_refused(
    source: MavenSource, registry: Site, tmp_path: Path, version: str
) -> None:
    with pytest.raises(UserError, match="is not a version"):
        source.fetch(version, tmp_path)
    assert registry.asked == []


def test_nobody_listening_is_one_line(sleeps: Sleeps, tmp_path: Path) -> None:
    source = MavenSource("org.example:thing", base=f"http://127.0.0.1:{free_port()}", sleep=sleeps)
    for ask in (source.versions, lambda: source.fetch("1.2.0", tmp_path)):
        with pytest.raises(UserError) as error:
            ask()
        assert "cannot be reached" in one_line(error)
    assert sleeps == [1.0, 2.0] * 2


def test_a_full_disk_names_the_folder_and_leaves_nothing(
    source: MavenSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError) as error:
        source.fetch("1.2.0", tmp_path)
    assert f"no space left in {tmp_path}" in one_line(error)
    assert left_in(tmp_path) == set()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
def test_a_really_full_disk(source: MavenSource, tmp_path: Path) -> None:
    import subprocess

    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        with pytest.raises(UserError, match="no space left"):
            source.fetch("1.2.0", disk)
        assert left_in(disk) == set()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_cache_that_cannot_be_a_folder_is_one_line(source: MavenSource, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError) as error:
        source.fetch("1.2.0", tmp_path / "file" / "cache")
    assert "set paths.cache" in one_line(error)


@pytest.mark.parametrize(
    "metadata",
    [
        b"<!DOCTYPE a [<!ENTITY x 'y'>]>" + METADATA.partition(b"?>")[2],
        b"<metadata><versioning>",
        b"<metadata/>",
        b"",
    ],
)
def test_metadata_that_is_none_is_refused(
    source: MavenSource, registry: Site, metadata: bytes
) -> None:
    registry.files[f"{FOLDER}/maven-metadata.xml"] = metadata
    with pytest.raises(UserError, match="damaged list of versions of thing"):
        source.versions()


def test_two_at_once_download_a_file_once(registry: Site, tmp_path: Path) -> None:
    def fetch() -> None:
        MavenSource("org.example:thing", base=registry.base).fetch("1.2.0", tmp_path)

    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert registry.asked_for(FILE) == 1


# --- the remembered list --------------------------------------------------------------


class Changing:
    """A source whose versions grow with every question, and which can be out of reach."""

    name = "changing"

    def __init__(self) -> None:
        self.questions = 0
        self.reachable = True

    def versions(self) -> tuple[str, ...]:
        if not self.reachable:
            raise UserError("changing cannot be reached")
        self.questions += 1
        return tuple(f"1.{minor}" for minor in range(self.questions))

    def fetch(self, version: str, cache: Path) -> Fetched:
        return Fetched(path=cache / version, locator=version, sha256="0")


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


Make = Callable[[], CachedVersions]


@pytest.fixture
def changing() -> Changing:
    return Changing()


@pytest.fixture
def make(changing: Changing, clock: Clock, tmp_path: Path) -> Make:
    return lambda: CachedVersions(changing, tmp_path / "lists" / "x.json", max_age=60, clock=clock)


def test_a_young_list_is_answered_from_the_file(
    make: Make, changing: Changing, clock: Clock
) -> None:
    assert make().versions() == ("1.0",)
    clock.now += 59
    assert make().versions() == ("1.0",)
    assert changing.questions == 1


@pytest.mark.parametrize("seconds", [60.0, -1.0])
def test_a_list_too_old_or_from_the_future_is_asked_for(
    make: Make, clock: Clock, seconds: float
) -> None:
    make().versions()
    clock.now += seconds
    assert make().versions() == ("1.0", "1.1")


def test_an_old_list_serves_when_the_source_is_out_of_reach(
    make: Make, changing: Changing, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    make().versions()
    clock.now += 1000
    changing.reachable = False
    with caplog.at_level(logging.WARNING):
        assert make().versions() == ("1.0",)
    assert caplog.messages == [
        "changing cannot be reached; using the list of versions saved at 1970-01-12 13:46 UTC "
        "instead"
    ]


def test_out_of_reach_without_a_list_is_an_error(make: Make, changing: Changing) -> None:
    changing.reachable = False
    with pytest.raises(UserError, match="cannot be reached"):
        make().versions()


@pytest.mark.parametrize("content", [b"", b"{", b'{"at": 1}', b"\xff"])
def test_a_damaged_list_is_asked_for_again(make: Make, tmp_path: Path, content: bytes) -> None:
    make().versions()
    (tmp_path / "lists" / "x.json").write_bytes(content)
    assert make().versions() == ("1.0", "1.1")


def test_archives_come_from_the_wrapped_source(make: Make, tmp_path: Path) -> None:
    assert make().name == "changing"
    assert make().fetch("7", tmp_path).path == tmp_path / "7"


# --- the real one ---------------------------------------------------------------------


def test_maven_central_has_postgres() -> None:
    source = MavenSource(Postgres("x86_64").supplies[0].coordinates)
    try:
        versions = source.versions()
    except UserError as error:
        pytest.skip(str(error))
    assert {"14.10.0", "14.10.1", "17.0.0"} <= set(versions)


def test_parse_versions_is_pure() -> None:
    assert parse_versions(METADATA) == ("1.2.0", "1.10.0")
