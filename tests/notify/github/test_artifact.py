"""Artifacts of strangers: what is read of them, and all that is refused."""

from __future__ import annotations

import json
import os
import stat
import struct
import warnings
import zipfile
from pathlib import Path
from random import Random

import pytest

from pipeline.notify.github import artifact
from pipeline.notify.github.artifact import RefusedArtifactError, read_member
from tests.notify.answers import measured, members, not_measured, sums, zipped

GOOD = members(measured())


def at(folder: Path, data: bytes) -> Path:
    path = folder / "artifact.zip"
    path.write_bytes(data)
    return path


def test_what_measure_wrote_is_read_from_a_zip_and_from_a_folder(tmp_path: Path) -> None:
    bundles = {f"bundles/{number}.tar.zst": Random(number).randbytes(2000) for number in range(120)}
    packed = at(tmp_path, zipped(GOOD | bundles))
    assert read_member(packed, "answer.json") == GOOD["answer.json"]
    assert read_member(tmp_path, "answer.json") == GOOD["answer.json"], "it is alone in a folder"
    for name, data in GOOD.items():
        (tmp_path / name).write_bytes(data)
    assert read_member(tmp_path, "answer.json") == GOOD["answer.json"]


def linked(name: str, to: str, kind: int = stat.S_IFLNK) -> tuple[zipfile.ZipInfo, bytes]:
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (kind | 0o777) << 16
    return info, to.encode()


def twice() -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return zipped([*GOOD.items(), ("answer.json", b"{}")])


def claiming(data: bytes, size: int) -> bytes:
    """Let the directory of an archive say of its first member that it unpacks to another size."""
    entry = data.index(b"PK\x01\x02") + 24
    return data[:entry] + struct.pack("<I", size) + data[entry + 4 :]


BOMB = members(b" " * (artifact.LARGEST_MEMBER - 1))
LARGE = b"9" * (artifact.LARGEST_MEMBER + 1)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it is not a zip archive"),
        (b"PK\x03\x04 not more", "it is not a zip archive"),
        (b"\x7fELF" * 100, "it is not a zip archive"),
        (zipped({}), "it lacks the file answer.json"),
        (zipped({"answer.json": b"{}"}), "it lacks the file SHA256SUMS"),
        (zipped({"a/answer.json": b"{}"}), "it lacks the file answer.json"),
        (zipped(GOOD | {"../answer.json": b"{}"}), "a path outside of it"),
        (zipped(GOOD | {"/etc/passwd": b"{}"}), "a path outside of it"),
        (zipped(GOOD | {"a/../../b": b"{}"}), "a path outside of it"),
        (zipped(GOOD | {"C:\\windows": b"{}"}), "a path outside of it"),
        (zipped(GOOD | {"..\\b": b"{}"}), "a path outside of it"),
        (zipped(GOOD | {"a\x1b[2J": b""}), "a path outside of it"),
        (zipped([linked("answer.json", "/etc/passwd")]), "a link or a device"),
        (zipped([*GOOD.items(), linked("bundles", "/")]), "a link or a device"),
        (zipped([*GOOD.items(), linked("pipe", "", stat.S_IFIFO)]), "a link or a device"),
        (zipped([*GOOD.items(), linked("disk", "", stat.S_IFBLK)]), "a link or a device"),
        (twice(), "a member appears twice"),
        (zipped(GOOD, zipfile.ZIP_LZMA), "a member that cannot be read"),
        (zipped(GOOD, zipfile.ZIP_BZIP2), "a member that cannot be read"),
        (zipped(BOMB), "its answer.json is too large"),
        (zipped(members(LARGE), zipfile.ZIP_STORED), "its answer.json is too large"),
        (claiming(zipped(members(b" " * 50_000_000)), 100_000), "answer.json"),
        (claiming(zipped(GOOD, zipfile.ZIP_STORED), 10), "answer.json"),
        (zipped(GOOD).replace(b"PK\x01\x02", b"PK\x01\x03"), "it is not a zip archive"),
        (zipped(GOOD, zipfile.ZIP_STORED).replace(b"small", b"large"), "damaged"),
        (zipped(GOOD | {"SHA256SUMS": sums(b"other")}), "differs from its checksum in SHA256SUMS"),
        (zipped(GOOD | {"SHA256SUMS": b"\xff\x00"}), "differs from its checksum in SHA256SUMS"),
    ],
)
def test_what_is_not_as_ours_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    with pytest.raises(RefusedArtifactError) as refused:
        read_member(at(tmp_path, data), "answer.json")
    assert said in str(refused.value)
    assert len(str(refused.value)) < 120
    assert [path.name for path in tmp_path.iterdir()] == ["artifact.zip"]


def test_a_huge_artifact_is_not_even_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "artifact.zip"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    monkeypatch.setattr(artifact, "LARGEST", 1 << 20)
    with pytest.raises(RefusedArtifactError, match="it is too large"):
        read_member(path, "answer.json")


def test_a_million_members_are_counted_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = zipped(GOOD | {f"f{number}": b"" for number in range(artifact.MEMBERS)})

    def opened(_: object) -> None:
        pytest.fail("the directory was read")

    monkeypatch.setattr(zipfile, "ZipFile", opened)
    with pytest.raises(RefusedArtifactError, match="too many members"):
        read_member(at(tmp_path, many), "answer.json")


def test_bytes_of_every_kind_are_refused_in_a_line(tmp_path: Path) -> None:
    """An archive that is cut anywhere, or has any of its bytes turned over, is no crash."""
    whole = zipped(GOOD)
    path = tmp_path / "artifact.zip"
    for at_byte in range(0, len(whole), 3):
        for data in (
            whole[:at_byte],
            whole[:at_byte] + bytes([whole[at_byte] ^ 0xFF]) + whole[at_byte + 1 :],
        ):
            path.write_bytes(data)
            try:
                assert read_member(path, "answer.json") == GOOD["answer.json"]
            except RefusedArtifactError:
                continue


def test_a_folder_is_read_without_following_links(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(json.dumps(not_measured("the secret")))
    folder = tmp_path / "artifact"
    folder.mkdir()
    (folder / "SHA256SUMS").write_bytes(sums(secret.read_bytes()))
    (folder / "answer.json").symlink_to(secret)
    with pytest.raises(RefusedArtifactError, match="cannot be read"):
        read_member(folder, "answer.json")
    (folder / "answer.json").unlink()
    os.mkfifo(folder / "answer.json")
    with pytest.raises(RefusedArtifactError, match="a member is not a regular file"):
        read_member(folder, "answer.json")
    (folder / "answer.json").unlink()
    (folder / "answer.json").write_bytes(LARGE)
    with pytest.raises(RefusedArtifactError, match="it is too large"):
        read_member(folder, "answer.json")
