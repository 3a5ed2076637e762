"""Every kind of place does the same: it lists what is there, gives it, and takes what is whole."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from pipeline.transfer.places import open_place
from pipeline.transfer.places.base import (
    Access,
    ChangedError,
    FileEntry,
    Place,
    PlaceError,
    part,
    walk,
)
from tests.real.transfer.conftest import Ground

LARGE = 20 << 20
"""More than one range of an object, and more than is asked for ahead over ssh."""

NAME = "bundles/pg-17.11#2 'r1'.tar.zst"
"""A name that a shell would take apart."""


@pytest.fixture
def source(home: Path) -> Path:
    path = home / "source"
    path.write_bytes(Random(1).randbytes(LARGE + 12_345))
    return path


def test_what_is_written_is_listed_and_read(ground: Ground, source: Path) -> None:
    with ground.open("a/b") as place:
        assert (place.look().files, place.look("bundles").folders) == ({}, frozenset())
        place.write(NAME, source)
        top = place.look()
        assert (dict(top.files), set(top.folders)) == ({}, {"bundles"})
        (found,) = walk(place, "bundles").items()
        assert (found[0], found[1].size) == (NAME, source.stat().st_size)
        data = source.read_bytes()
        assert b"".join(place.read(*found)) == data
        assert b"".join(place.read(*found, LARGE - 7)) == data[LARGE - 7 :]
        assert b"".join(place.read(*found, len(data))) == b""
        place.remove(NAME)
        place.remove(NAME)
        assert walk(place, "bundles") == {}


def test_what_is_written_again_is_another(ground: Ground, home: Path) -> None:
    with ground.open("x") as place:
        old = written(place, home / "text", "first")
        entry = written(place, home / "text", "and second")
        for other in (old, FileEntry(entry.size, "1")):
            with pytest.raises(ChangedError, match=r"journal\.jsonl that changed"):
                list(place.read("journal.jsonl", other))
        place.remove("journal.jsonl")
        with pytest.raises(ChangedError, match=r"journal\.jsonl"):
            list(place.read("journal.jsonl", entry))


def written(place: Place, source: Path, text: str) -> FileEntry:
    source.write_text(text)
    place.write("journal.jsonl", source)
    entry = place.look().files["journal.jsonl"]
    assert b"".join(place.read("journal.jsonl", entry)) == text.encode()
    return entry


def test_links_are_skipped(ground: Ground, home: Path) -> None:
    if ground.kind == "s3":
        return  # An object is no link.
    (ground.folder / "x" / "bundles").mkdir(parents=True)
    (home / "secret").write_text("s")
    (ground.folder / "x" / "file").symlink_to(home / "secret")
    (ground.folder / "x" / "folder").symlink_to(home)
    with ground.open("x") as place:
        assert (dict(place.look().files), set(place.look().folders)) == ({}, {"bundles"})


def test_a_folder_that_is_closed_is_one_line(ssh_ground: Ground, source: Path) -> None:
    (ssh_ground.folder / "closed").mkdir()
    (ssh_ground.folder / "closed").chmod(0o555)
    with ssh_ground.open("closed") as place, pytest.raises(PlaceError, match="Permission denied"):
        place.write("a.txt", source)


@pytest.mark.parametrize(
    "address",
    [
        "ssh://host",
        "ssh://-oProxyCommand=x/path",
        "ssh://user:password@host/path",
        "ssh://host:port/path",
        "s3://bucket/../other",
        "s3://UPPER/x",
        "s3://",
        "ftp://host/path",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(
        PlaceError,
        match=r"is not a valid place: write .*(ssh|s3)://",
    ):
        open_place(address, Access())


def test_what_object_storage_is_asked_with_must_be_there() -> None:
    keys = {"K": "k", "S": "s"}
    for access, said in [
        (Access(key_variable="K", signing_variable="S"), "set K in the environment"),
        (Access(key_variable="K", signing_variable="S", environment=keys), "no endpoint"),
        (
            Access(
                key_variable="K",
                signing_variable="S",
                environment=keys,
                endpoint="http://a.example",
            ),
            "not an https:// address",
        ),
    ]:
        with pytest.raises(PlaceError, match=said):
            open_place("s3://bucket/x", access)


def test_keys_that_are_wrong_are_one_line(s3_ground: Ground) -> None:
    wrong = {**s3_ground.access.environment, "AWS_SECRET_ACCESS_KEY": "wrong" * 8}
    access = Access(**{**vars(s3_ground.access), "environment": wrong})
    with (
        open_place(s3_ground.address("x"), access) as place,
        pytest.raises(PlaceError, match="keys are refused") as error,
    ):
        place.look()
    assert "\n" not in str(error.value) and "wrong" * 8 not in str(error.value)


def test_a_bucket_that_is_not_there_is_one_line(s3_ground: Ground) -> None:
    with (
        open_place("s3://other/x", s3_ground.access) as place,
        pytest.raises(PlaceError, match="cannot be listed: the bucket"),
    ):
        place.look()


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../x", "a\\b", "a\nb", "a\x00b"])
def test_a_name_that_leads_elsewhere_is_no_name(name: str) -> None:
    with pytest.raises(PlaceError, match="which is not a valid file name: nothing was collected"):
        part("place", name)
    assert part("place", "pg-17.11#2-r1.tar.zst") == "pg-17.11#2-r1.tar.zst"


def test_a_file_that_goes_while_a_folder_is_listed_takes_no_other_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcdef":
        (tmp_path / name).write_text(name)
    with open_place(str(tmp_path), Access()) as place:
        scan = os.scandir

        def scanned(path: Path) -> object:
            found = scan(path)
            (tmp_path / "c").unlink(missing_ok=True)
            return found

        monkeypatch.setattr("pipeline.transfer.places.folder.os.scandir", scanned)
        assert set("abdef") <= set(place.look().files)
