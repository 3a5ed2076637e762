"""Archives that the configuration lists: on a site on loopback, and as files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.sources.archive import ArchiveSource
from pipeline.text.errors import UserError
from tests.fakes.site import Site, Sleeps

ARCHIVE = bytes(range(256)) * 64
SHA256 = hashlib.sha256(ARCHIVE).hexdigest()
FILE = "/get/mysql-boost-8.0.36.tar.gz"


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    made.files = {FILE: ARCHIVE}
    with made.serving():
        yield made


def source(place: str, tmp_path: Path, sha256: str = SHA256) -> ArchiveSource:
    listed = f"8.0.36 {sha256} {place}\n8.0.37 {'0' * 64} {place}"
    return ArchiveSource(listed, tmp_path, sleep=Sleeps())


def test_an_archive_is_downloaded_once_and_verified(site: Site, tmp_path: Path) -> None:
    """Without a checksum beside it."""
    listed = source(f"{site.base}{FILE}", tmp_path)
    assert listed.versions() == ("8.0.36", "8.0.37")
    fetched = listed.fetch("8.0.36", tmp_path / "cache")
    assert fetched.path.read_bytes() == ARCHIVE
    assert (fetched.sha256, fetched.locator) == (SHA256, f"{site.base}{FILE}")
    assert not fetched.scratch
    assert listed.fetch("8.0.36", tmp_path / "cache") == fetched
    assert site.asked_for(FILE) == 1
    with pytest.raises(UserError, match=r"sent a damaged .* differs from the expected one\)"):
        listed.fetch("8.0.37", tmp_path / "cache")
    assert len(list((tmp_path / "cache").glob("archive-*.gz"))) == 1


def test_a_file_stays_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a file.tar.gz"
    path.write_bytes(ARCHIVE)
    listed = source(str(path), tmp_path)
    fetched = listed.fetch("8.0.36", tmp_path / "cache")
    assert (fetched.path, fetched.sha256, fetched.scratch) == (path, SHA256, False)
    assert not (tmp_path / "cache").exists()
    with pytest.raises(UserError, match=f"has the SHA-256 {SHA256}, not that of its"):
        listed.fetch("8.0.37", tmp_path / "cache")
    path.unlink()
    with pytest.raises(UserError, match=r"cannot be read \(No such file"):
        listed.fetch("8.0.36", tmp_path / "cache")


def test_what_is_not_listed_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no \[\[archive\]\] has the version '9.0.0'"):
        source("/x", tmp_path).fetch("9.0.0", tmp_path)
