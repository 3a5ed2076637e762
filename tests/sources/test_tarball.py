"""A site with a page of links and archives, on loopback, with faults."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.sources.tarball import TarballSource, linked_versions
from pipeline.text.errors import UserError
from tests.fakes.site import Site, Sleeps

PAGE = b"""<a href="../">up</a> <A HREF='v9.6.2/'>v9.6.2/</A> <a href=v17.10/>x</a>
<a href="v17.9/">v17.9/</a> <a href="README">1.2.3</a>"""
ARCHIVE = bytes(range(256)) * 64
SHA256 = hashlib.sha256(ARCHIVE).hexdigest()
FILE = "/source/v17.9/thing-17.9.tar.gz"


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    made.files = {"/source/": PAGE, FILE: ARCHIVE, f"{FILE}.sha256": f"{SHA256}  x\n".encode()}
    with made.serving():
        yield made


@pytest.fixture
def source(site: Site, tmp_path: Path) -> TarballSource:
    coordinates = f"{site.base}/source/ {site.base}/source/v{{version}}/thing-{{version}}.tar.gz"
    return TarballSource(coordinates, tmp_path, sleep=Sleeps())


def test_the_links_of_a_page_name_the_versions(source: TarballSource) -> None:
    assert source.name == "127.0.0.1"
    assert source.versions() == ("9.6.2", "17.9", "17.10")


def test_links_may_be_of_files() -> None:
    page = b'<a href="/x/thing-3.4.5.tar.bz2?a=1">x</a><a href="/9.9/about">y</a>'
    page += b'<a href="thing-doc-3.4.6.tar.bz2">z</a><a href="thing-3.4.7rc1.tar.bz2">z</a>'
    assert linked_versions(page, "thing-{version}.tar.bz2") == ("3.4.5",)


def test_an_archive_is_had_once_and_verified(
    source: TarballSource, site: Site, tmp_path: Path
) -> None:
    fetched = source.fetch("17.9", tmp_path / "cache")
    assert fetched.path.read_bytes() == ARCHIVE
    assert fetched.sha256 == SHA256
    assert fetched.locator == f"{site.base}{FILE}"
    assert source.fetch("17.9", tmp_path / "cache") == fetched
    assert site.asked_for(FILE) == 1


@pytest.mark.parametrize("name", ["sha256sums.txt", "SHA256SUMS"])
def test_a_list_of_checksums_serves(
    source: TarballSource, site: Site, tmp_path: Path, name: str
) -> None:
    del site.files[f"{FILE}.sha256"]
    listed = f"{'0' * 64}  thing-17.9.tar.gz.asc\n{SHA256} *./thing-17.9.tar.gz\n"
    site.files[f"/source/v17.9/{name}"] = listed.encode()
    assert source.fetch("17.9", tmp_path).sha256 == SHA256
    site.files[f"/source/v17.9/{name}"] = listed.replace(SHA256, "1" * 64).encode()
    with pytest.raises(
        UserError, match=r"sent a damaged .* \(its sha256 differs from the published one"
    ):
        source.fetch("17.9", tmp_path / "other")


def test_without_a_checksum_there_is_no_archive(
    source: TarballSource, site: Site, tmp_path: Path
) -> None:
    del site.files[f"{FILE}.sha256"]
    with pytest.raises(UserError, match="has no 127"):
        source.fetch("17.9", tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".lock"]


@pytest.mark.parametrize("fault", ["truncated", "flipped", "503"])
def test_a_passing_fault_is_asked_over_and_a_lasting_one_is_a_line(
    source: TarballSource, site: Site, tmp_path: Path, fault: str
) -> None:
    site.faults[FILE] = [fault]
    assert source.fetch("17.9", tmp_path).sha256 == SHA256
    site.faults[FILE] = [fault] * 9
    with pytest.raises(UserError) as error:
        source.fetch("17.9", tmp_path / "other")
    assert "\n" not in str(error.value)


def test_a_page_without_versions_is_a_line(source: TarballSource, site: Site) -> None:
    site.files["/source/"] = b"<html>moved</html>"
    with pytest.raises(UserError, match="sent a damaged list of versions"):
        source.versions()


@pytest.mark.parametrize("version", ["../17.9", "17", "", "17.9/x", "x"])
def test_only_numbers_are_a_version(source: TarballSource, tmp_path: Path, version: str) -> None:
    with pytest.raises(UserError, match="is not a version"):
        source.fetch(version, tmp_path)
