"""The bundle: the immutable archive of one run, from which everything else is derived.

A bundle is one file, ``<run id>.tar.zst``. Its first member is ``manifest.json``. The other members
are raw: the load generator's output, the probes' samples, the server's settings and log. The
manifest has the SHA-256 of every other member. A bundle appears under its name only when it is
complete and synced to the disk.

A disturbed run that is repeated leaves a bundle named ``<run id>.disturbed-1.tar.zst``. The bundle
of such an attempt is kept and transferred like any other, but does not count as a run.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import zstandard
from pydantic import ValidationError
from pydantic_core import from_json

from pipeline.model import BUNDLE_SCHEMA, Manifest, attempt_name
from pipeline.text.errors import UserError, first_line

SUFFIX = ".tar.zst"
SETTINGS_MEMBER = "settings.json"
"""The member of a bundle with the settings that the server reported: name -> value."""

VALUES_MEMBER = "values.json"
"""The member of an imported bundle with its values: step -> metric -> value."""

COUNTS_MEMBER = "counts.json"
"""The file in the folder of a counted step with its costs: a StepCounts."""

BUNDLES = "bundles"
"""The folder of bundles, in the results folder and in the folder of an experiment."""
EXPERIMENTS = "experiments"
"""The folder in the results folder that has a folder for each experiment."""

_ATTEMPT = re.compile(rf"{re.escape(attempt_name('', 1))[:-1]}\d+{re.escape(SUFFIX)}$")
_MANIFEST = "manifest.json"
_LARGEST = 1 << 30
"""The most bytes that a bundle may unpack to; a larger one is damaged, or made to fill memory."""

_CHUNK = 4096
"""Packed bytes to unpack at a time: few, so that an archive that is too large is noticed before it
fills memory."""


class BundleError(UserError):
    """A bundle cannot be used: it is damaged, or a newer nightshift wrote it."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(f"{path} {message}")
        self.path = path


class DamagedBundleError(BundleError):
    """A bundle is truncated, altered or unreadable, so its run must be measured again."""


class NewerBundleError(BundleError):
    """A newer nightshift wrote this bundle, in a format that this version cannot read."""


@dataclass(frozen=True)
class Bundle:
    """A bundle in memory: its manifest, its raw files, and the SHA-256 of the whole archive."""

    manifest: Manifest
    files: Mapping[str, bytes]
    sha256: str


def bundle_path(folder: Path, run_id: str) -> Path:
    """Return the path of the bundle of a run in a folder."""
    return folder / f"{run_id}{SUFFIX}"


def list_bundles(folder: Path) -> Iterator[Path]:
    """Yield the complete bundles of a folder, by name, without those of disturbed attempts."""
    yield from (path for path in list_all(folder) if _ATTEMPT.search(path.name) is None)


def list_all(folder: Path) -> Iterator[Path]:
    """Yield all bundles of a folder, by name, including those of disturbed attempts."""
    yield from sorted(folder.glob(f"*{SUFFIX}"))


def attempts(folder: Path, run_id: str) -> int:
    """Return how often a run was disturbed and had to be repeated.

    The result is the number of the last attempt, because earlier ones may have been moved away.
    """
    begin = attempt_name(run_id, 0).removesuffix("0")
    made = [path.name.removeprefix(begin).removesuffix(SUFFIX) for path in list_all(folder)]
    return max((int(number) for number in made if number.isdecimal()), default=0)


def write_bundle(folder: Path, manifest: Manifest, files: Mapping[str, bytes]) -> Path:
    """Write a bundle atomically and return its path.

    Raises UserError if the disk is full, the folder is not writable, or the run has a bundle
    already: a measured run is never replaced.
    """
    path = bundle_path(folder, manifest.name)
    if path.exists():
        raise UserError(f"{path} exists already and is never overwritten; move it away first")
    partial = path.with_suffix(".partial")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        pack_bundle(partial, manifest, files)
        partial.rename(path)
        _sync_folder(folder)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(
                f"the disk that holds {folder} is full; free some space and run the same "
                "command again: all results are kept"
            ) from error
        raise UserError(
            f"cannot write {path} ({error.strerror}); correct this and run the same command again"
        ) from error
    return path


def pack_bundle(path: Path, manifest: Manifest, files: Mapping[str, bytes]) -> None:
    """Write a bundle to a file and sync it to the disk. Raises OSError."""
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    head = manifest.model_copy(update={"files": sums})
    with path.open("wb") as raw:
        # The checksum protects the manifest; the manifest protects everything else.
        packer = zstandard.ZstdCompressor(level=3, write_checksum=True)
        with packer.stream_writer(raw, closefd=False) as packed:
            _write_members(packed, {_MANIFEST: _manifest_bytes(head), **files})
        raw.flush()
        os.fsync(raw.fileno())


def read_bundle(path: Path) -> Bundle:
    """Read a bundle and verify the checksum of every file in it.

    Raises DamagedBundleError, NewerBundleError, or BundleError if the file's name is not that of
    its run. The message is one line.
    """
    try:
        packed = path.read_bytes()
        members = _read_members(packed)
        # Stricter than the standard library, which lets halves of characters pass.
        head = from_json(members.pop(_MANIFEST))
        schema = int(head["schema_version"])
    except (
        OSError,
        zstandard.ZstdError,
        tarfile.TarError,
        EOFError,
        KeyError,
        OverflowError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise DamagedBundleError(path, f"is damaged or truncated ({first_line(error)})") from error
    if schema > BUNDLE_SCHEMA:
        raise NewerBundleError(
            path,
            f"has bundle schema {schema}, but this release of nightshift reads schemas up to "
            f"{BUNDLE_SCHEMA}; upgrade nightshift",
        )
    try:
        manifest = Manifest.model_validate(head)
    except ValidationError as error:
        wrong = error.errors()[0]
        where = ".".join(map(str, wrong["loc"])) or wrong["msg"]
        raise DamagedBundleError(
            path, f"has a manifest with an invalid value at {where}"
        ) from error
    for name in sorted(members.keys() | manifest.files.keys()):
        data = members.get(name)
        if data is None or hashlib.sha256(data).hexdigest() != manifest.files.get(name):
            raise DamagedBundleError(path, f"is damaged: its member {name} is missing or altered")
    if path.name != f"{manifest.name}{SUFFIX}":
        raise BundleError(
            path,
            (
                f"holds the run {manifest.name}; rename the file to the name of its run, or "
                "delete it"
            ),
        )
    return Bundle(manifest, members, hashlib.sha256(packed).hexdigest())


def read_manifest(path: Path) -> Manifest:
    """Read only the manifest of a bundle, without verifying its other files.

    Raises DamagedBundleError if the manifest is unreadable or invalid, for example in a bundle of a
    newer nightshift.
    """
    try:
        with (
            path.open("rb") as raw,
            zstandard.ZstdDecompressor().stream_reader(raw) as packed,
            tarfile.open(fileobj=packed, mode="r|") as archive,
        ):
            info = archive.next()
            head = archive.extractfile(info) if info is not None else None
            return Manifest.model_validate_json(head.read() if head is not None else b"")
    except (
        OSError,
        zstandard.ZstdError,
        tarfile.TarError,
        EOFError,
        OverflowError,
        ValueError,
    ) as error:
        raise DamagedBundleError(path, f"has no manifest ({first_line(error)})") from error


def _manifest_bytes(manifest: Manifest) -> bytes:
    return manifest.model_dump_json(indent=1).encode()


def _write_members(packed: zstandard.ZstdCompressionWriter, files: Mapping[str, bytes]) -> None:
    with tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            info.mode = 0o644
            archive.addfile(info, io.BytesIO(data))


def _read_members(packed: bytes) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(_unpack(packed)), mode="r:") as archive:
        for info in archive:
            name = PurePosixPath(info.name)
            allowed = info.isfile() and not name.is_absolute() and ".." not in name.parts
            if not allowed or info.name in members:
                raise tarfile.TarError(f"unexpected member {info.name}")
            handle = archive.extractfile(info)
            data = handle.read() if handle is not None else b""
            if len(data) != info.size:
                raise EOFError(f"member {info.name} is truncated")
            members[info.name] = data
    return members


def _unpack(packed: bytes) -> bytes:
    """Decompress a file of exactly one zstd frame, and verify its checksum."""
    unpacker = zstandard.ZstdDecompressor().decompressobj()
    parts, size = [], 0
    for start in range(0, len(packed), _CHUNK):
        if unpacker.eof:
            raise ValueError("it has data after its end")
        parts.append(unpacker.decompress(packed[start : start + _CHUNK]))
        size += len(parts[-1])
        if size > _LARGEST:
            raise ValueError(f"it unpacks to more than {_LARGEST} bytes")
    if not unpacker.eof:
        raise EOFError("it is truncated")
    if unpacker.unused_data:
        raise ValueError("it has data after its end")
    return b"".join(parts)


def _sync_folder(folder: Path) -> None:
    """Sync a folder to the disk, so that renamed files in it survive a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
