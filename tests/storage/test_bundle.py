"""A bundle is whole and unaltered, or it is refused in one line."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import zstandard

from pipeline.model import BUNDLE_SCHEMA
from pipeline.storage import bundle
from pipeline.storage.bundle import (
    BundleError,
    DamagedBundleError,
    NewerBundleError,
    attempts,
    bundle_path,
    list_all,
    list_bundles,
    read_bundle,
    write_bundle,
)
from pipeline.text.errors import UserError
from tests.storage.bundles import Files, make_run, put_run

Members = list[tuple[tarfile.TarInfo, bytes]]


def members_of(path: Path) -> Members:
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        return [
            (info, handle.read() if (handle := archive.extractfile(info)) else b"")
            for info in archive
        ]


def pack(members: Members) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, data in members:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return zstandard.ZstdCompressor(write_checksum=True).compress(plain.getvalue())


def with_head(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Rewrite the manifest of a bundle in place."""
    (info, data), *others = members_of(path)
    head = json.loads(data)
    change(head)
    path.write_bytes(pack([(info, json.dumps(head).encode()), *others]))


def one_line(error: pytest.ExceptionInfo[UserError], path: Path) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert text.startswith(str(path))
    return text.removeprefix(str(path))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return put_run(tmp_path / "bundles")


def test_what_was_written_is_read(tmp_path: Path) -> None:
    manifest, files = make_run(notes="café ☕")
    files |= {"empty": b"", "binary": bytes(range(256)) * 5000, "ünïcode/näme": b"x"}
    path = write_bundle(tmp_path, manifest, files)
    assert path == tmp_path / f"{manifest.run_id}.tar.zst" == bundle_path(tmp_path, manifest.run_id)
    found = read_bundle(path)
    assert found.files == files
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    assert found.manifest == manifest.model_copy(update={"files": sums})


def test_the_manifest_is_the_first_member(path: Path) -> None:
    assert members_of(path)[0][0].name == "manifest.json"


def test_equal_runs_are_equal_files(tmp_path: Path) -> None:
    assert put_run(tmp_path / "a").read_bytes() == put_run(tmp_path / "b").read_bytes()


def test_it_can_be_read_with_the_usual_tools(path: Path, tmp_path: Path) -> None:
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    (tmp_path / "plain.tar").write_bytes(plain)
    listed = subprocess.run(
        ["tar", "-tf", tmp_path / "plain.tar"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(listed) == {"manifest.json", *read_bundle(path).files}


def test_truncated_at_any_length_it_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    lengths = {0, 1, 3, 4, 5, 8, 12, 100, 4095, 4096, 4097}
    lengths |= {len(whole) - n for n in range(1, 20)} | set(range(0, len(whole), 97))
    for length in sorted(n for n in lengths if n < len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedBundleError) as error:
            read_bundle(path)
        assert "damaged or truncated" in one_line(error, path)


def test_a_tar_that_ends_before_its_last_members_is_refused(path: Path) -> None:
    path.write_bytes(pack(members_of(path)[:-2]))
    with pytest.raises(DamagedBundleError, match="is missing or altered"):
        read_bundle(path)


def test_any_flipped_bit_is_noticed(path: Path) -> None:
    whole = path.read_bytes()
    for place in range(0, len(whole), 13):
        altered = bytearray(whole)
        altered[place] ^= 1 << place % 8
        path.write_bytes(altered)
        try:
            found = read_bundle(path)
        except DamagedBundleError:
            continue
        # A bit without meaning to the format: then nothing else may have changed either.
        path.write_bytes(whole)
        assert (found.manifest, found.files) == (
            read_bundle(path).manifest,
            read_bundle(path).files,
        )


def test_whatever_follows_the_archive_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    for more in (b"x", b"x" * 10_000, whole):
        path.write_bytes(whole + more)
        with pytest.raises(DamagedBundleError, match="it has data after its end"):
            read_bundle(path)


@pytest.mark.parametrize("how", ["missing", "altered", "added", "twice"])
def test_members_are_those_of_the_manifest(path: Path, how: str) -> None:
    head, (info, data), *others = members_of(path)
    changed: dict[str, Members] = {
        "missing": [head, *others],
        "altered": [head, (info, data[:-1] + b"!"), *others],
        "added": [head, (info, data), *others, (tarfile.TarInfo("more"), b"x")],
        "twice": [head, (info, data), (info, data), *others],
    }
    path.write_bytes(pack(changed[how]))
    with pytest.raises(DamagedBundleError) as error:
        read_bundle(path)
    assert ("more" if how == "added" else info.name) in one_line(error, path)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("link", tarfile.SYMTYPE),
        ("link", tarfile.LNKTYPE),
        ("folder", tarfile.DIRTYPE),
        ("pipe", tarfile.FIFOTYPE),
        ("disk", tarfile.BLKTYPE),
        ("/etc/passwd", tarfile.REGTYPE),
        ("steps/../../x", tarfile.REGTYPE),
    ],
)
def test_members_that_no_bundle_has_are_refused(path: Path, name: str, kind: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, "manifest.json"
    data = b"x" if kind == tarfile.REGTYPE else b""
    path.write_bytes(pack([*members_of(path), (info, data)]))

    # Even where the manifest knows of it.
    def listed(head: dict[str, Any]) -> None:
        head["files"][name] = hashlib.sha256(data).hexdigest()

    with_head(path, listed)
    with pytest.raises(DamagedBundleError, match="unexpected member"):
        read_bundle(path)


def test_a_bundle_that_would_fill_the_memory_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = 1 << 24
    monkeypatch.setattr(bundle, "_LARGEST", limit)
    path.write_bytes(zstandard.ZstdCompressor().compress(bytes(limit + 1)))
    with pytest.raises(DamagedBundleError, match="unpacks to more than"):
        read_bundle(path)


@pytest.mark.parametrize("content", [b"", b"PK\3\4 not zstd", b"\x28\xb5\x2f\xfd", bytes(5000)])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.tar.zst"
    path.write_bytes(content)
    with pytest.raises(DamagedBundleError):
        read_bundle(path)


def test_a_zstd_file_that_holds_no_tar_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.zst"
    for content in (b"", b"hello", b"hello" * 1000, bytes(10240)):
        path.write_bytes(zstandard.ZstdCompressor().compress(content))
        with pytest.raises(DamagedBundleError):
            read_bundle(path)


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.tar.zst").mkdir()
    for name in ("x.tar.zst", "y.tar.zst"):
        with pytest.raises(DamagedBundleError):
            read_bundle(tmp_path / name)


def test_a_newer_bundle_says_so(path: Path) -> None:
    def newer(head: dict[str, Any]) -> None:
        head.update(schema_version=BUNDLE_SCHEMA + 1, something="new")

    with_head(path, newer)
    with pytest.raises(NewerBundleError) as error:
        read_bundle(path)
    text = one_line(error, path)
    assert f"schema {BUNDLE_SCHEMA + 1}" in text and "upgrade nightshift" in text


@pytest.mark.parametrize(
    "change",
    [
        {"repetition": 0},
        {"repetition": None},
        {"something": "unknown"},
        {"started_at": "yesterday"},
        {"revision": {}},
        {"schema_version": "one"},
        {"schema_version": None},
        {"schema_version": -5},
        {"ended_at": "2025-12-31T00:00:00Z"},
        {"started_at": "2026-01-01T00:00:00"},
        {"phases": [{"name": "start", "seconds": -1.0}]},
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(path: Path, change: dict[str, Any]) -> None:
    with_head(path, lambda head: head.update(change))
    with pytest.raises(DamagedBundleError) as error:
        read_bundle(path)
    one_line(error, path)


@pytest.mark.parametrize("manifest", [b"[]", b"3", b"null", b"{", b"\xff", b"{}"])
def test_a_manifest_that_is_none_is_refused(path: Path, manifest: bytes) -> None:
    (info, _), *others = members_of(path)
    path.write_bytes(pack([(info, manifest), *others]))
    with pytest.raises(DamagedBundleError):
        read_bundle(path)


def test_a_bundle_under_another_name_is_refused(path: Path) -> None:
    other = path.rename(path.with_name("other.tar.zst"))
    with pytest.raises(BundleError) as error:
        read_bundle(other)
    # Not as damaged: those are set aside and measured again.
    assert not isinstance(error.value, DamagedBundleError)
    assert "rename the file to the name of its run, or delete it" in one_line(error, other)


def test_a_run_is_never_measured_over(path: Path) -> None:
    before = path.read_bytes()
    manifest, files = make_run(faster=2)
    with pytest.raises(UserError, match="exists already") as error:
        write_bundle(path.parent, manifest, files)
    one_line(error, path)
    assert path.read_bytes() == before
    assert names(path.parent) == [path.name]


def test_leftovers_are_not_listed_and_do_not_hinder(tmp_path: Path) -> None:
    manifest, files = make_run()
    leftover = tmp_path / f"{manifest.run_id}.tar.partial"
    leftover.write_bytes(b"half")
    damaged = tmp_path / f"{manifest.run_id}.tar.zst.damaged"
    damaged.write_bytes(b"half")
    assert list(list_bundles(tmp_path)) == []
    path = write_bundle(tmp_path, manifest, files)
    assert list(list_bundles(tmp_path)) == [path]
    assert not leftover.exists()


def test_bundles_are_listed_in_the_order_of_their_names(tmp_path: Path) -> None:
    paths = [put_run(tmp_path, minor) for minor in (3, 1, 2)]
    assert list(list_bundles(tmp_path)) == sorted(paths)
    assert list(list_bundles(tmp_path / "missing")) == []


def test_attempts_that_do_not_count_are_bundles_and_no_runs(tmp_path: Path) -> None:
    manifest, files = make_run()
    assert attempts(tmp_path, manifest.run_id) == 0
    made = [
        write_bundle(tmp_path, manifest.model_copy(update={"attempt": attempt}), files)
        for attempt in (1, 2, 0)
    ]
    assert [path.name for path in made] == [
        f"{manifest.run_id}.disturbed-1.tar.zst",
        f"{manifest.run_id}.disturbed-2.tar.zst",
        f"{manifest.run_id}.tar.zst",
    ]
    assert list(list_bundles(tmp_path)) == made[2:]
    assert set(list_all(tmp_path)) == set(made)
    assert attempts(tmp_path, manifest.run_id) == 2
    made[0].rename(tmp_path / "moved away")
    assert attempts(tmp_path, manifest.run_id) == 2
    (tmp_path / "moved away").rename(made[0])
    # Of another run there are none.
    assert attempts(tmp_path, manifest.run_id.removesuffix("1")) == 0
    assert [read_bundle(path).manifest.attempt for path in made] == [1, 2, 0]


def test_an_attempt_does_not_pass_for_the_run(tmp_path: Path) -> None:
    manifest, files = make_run(attempt=1)
    path = write_bundle(tmp_path, manifest, files)
    passed_off = path.rename(bundle_path(tmp_path, manifest.run_id))
    with pytest.raises(BundleError, match=r"holds the run .*\.disturbed-1; rename"):
        read_bundle(passed_off)


def test_what_was_not_disturbed_is_written_as_ever(path: Path) -> None:
    """An older nightshift reads it, which knows nothing of disturbances."""
    head = json.loads(read_bundle(path).manifest.model_dump_json())
    assert not {"attempt", "repeated"} & head.keys()
    assert not any("disturbed" in step for step in head["steps"])


WRITER = """
import os, signal, sys
from pathlib import Path
from pipeline.storage import bundle
from tests.storage.bundles import make_run

moment, folder = sys.argv[1], Path(sys.argv[2])

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

if moment == "while writing":
    real, calls = bundle.io.BytesIO, []
    def counted(*args):
        calls.append(args)
        return die() if len(calls) == 4 else real(*args)
    bundle.io.BytesIO = counted
elif moment == "before it is on disk":
    bundle.os.fsync = die
elif moment == "before it has its name":
    Path.rename = die
elif moment == "before its name is on disk":
    bundle._sync_folder = die
bundle.write_bundle(folder, *make_run())
"""


@pytest.mark.parametrize(
    ("moment", "there"),
    [
        ("while writing", False),
        ("before it is on disk", False),
        ("before it has its name", False),
        ("before its name is on disk", True),
    ],
)
def test_a_killed_writer_leaves_all_or_nothing(tmp_path: Path, moment: str, there: bool) -> None:
    folder = tmp_path / "bundles"
    killed = subprocess.run(
        [sys.executable, "-c", WRITER, moment, str(folder)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    manifest, files = make_run()
    assert len(names(folder)) == 1
    assert list(list_bundles(folder)) == ([bundle_path(folder, manifest.run_id)] if there else [])
    path = bundle_path(folder, manifest.run_id)
    if not there:
        write_bundle(folder, manifest, files)
    assert read_bundle(path).files == files
    assert names(folder) == [path.name]


@pytest.fixture
def full_disk(tmp_path: Path) -> Path:
    """A file system of 32 KiB, or a skip where none may be mounted."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system takes root")
    return folder


def too_large() -> Files:
    return {"noise": Random(1).randbytes(200_000)}


def test_a_full_disk_is_one_line_and_leaves_nothing(full_disk: Path) -> None:
    try:
        manifest, files = make_run()
        with pytest.raises(
            UserError, match=r"disk that holds .* is full; free some space"
        ) as error:
            write_bundle(full_disk, manifest, files | too_large())
        assert "\n" not in str(error.value)
        assert names(full_disk) == []
        # With space there is, the same run is written.
        assert read_bundle(write_bundle(full_disk, manifest, files)).files == files
    finally:
        subprocess.run(["umount", str(full_disk)], check=True)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (errno.ENOSPC, "is full; free some space"),
        (errno.EDQUOT, "is full; free some space"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_a_disk_that_fails_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, said: str
) -> None:
    def fail(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UserError, match=said) as error:
        write_bundle(tmp_path, *make_run())
    assert "\n" not in str(error.value)
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write") as error:
        write_bundle(tmp_path / "file" / "bundles", *make_run())
    assert "\n" not in str(error.value)
