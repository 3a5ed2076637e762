"""The bundle: the immutable archive of one run, and the truth everything else is derived from.

A bundle is one file, ``<run id>.tar.zst``. Its first member is ``manifest.json``; the other
members are raw: what the load generator printed, the probes' samples, the server's settings
and log. The manifest holds a SHA-256 of every other member. A bundle appears under its name
only when it is whole and on disk.

A run that was disturbed and is measured again leaves ``<run id>.disturbed-1.tar.zst``: an attempt,
which is kept and carried as the others and is no run.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import zstandard
from pydantic import ValidationError

from pipeline.errors import UserError, first_line
from pipeline.model import BUNDLE_SCHEMA, Manifest, attempt_name

SUFFIX = ".tar.zst"
SETTINGS_MEMBER = "settings.json"
"""The member of a bundle that holds what the server reported: name -> value."""

VALUES_MEMBER = "values.json"
"""The member of an imported bundle that holds its values: step -> metric -> value."""

BUNDLES = "bundles"
"""The folder of the results where bundles are, and that of an experiment where its own are."""
EXPERIMENTS = "experiments"
"""The folder of the results that holds a folder for each experiment."""

_ATTEMPT = re.compile(rf"{re.escape(attempt_name('', 1))[:-1]}\d+{re.escape(SUFFIX)}$")
_MANIFEST = "manifest.json"
_LARGEST = 1 << 30
"""No bundle unpacks to more than this; one that does is damaged, or made to fill memory."""

_CHUNK = 4096
"""Packed bytes unpacked at a time: few enough that the check of the size comes in time."""


class BundleError(UserError):
    """A bundle that cannot be used."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(f"{path} {message}")
        self.path = path


class DamagedBundleError(BundleError):
    """A bundle that is truncated, altered or unreadable. Its run has to be measured again."""


class NewerBundleError(BundleError):
    """A bundle that a newer nightshift wrote."""


@dataclass(frozen=True)
class Bundle:
    """A bundle in memory: its manifest, its raw members, and the file's own SHA-256."""

    manifest: Manifest
    files: Mapping[str, bytes]
    sha256: str


def bundle_path(folder: Path, run_id: str) -> Path:
    """Return where the bundle of a run is kept."""
    return folder / f"{run_id}{SUFFIX}"


def list_bundles(folder: Path) -> Iterator[Path]:
    """Yield the whole bundles of runs in a folder, in the order of their names."""
    yield from (path for path in list_all(folder) if _ATTEMPT.search(path.name) is None)


def list_all(folder: Path) -> Iterator[Path]:
    """Yield the same and the attempts at runs that were disturbed and do not count."""
    yield from sorted(folder.glob(f"*{SUFFIX}"))


def attempts(folder: Path, run_id: str) -> int:
    """Return how many attempts at a run were disturbed, so that it was to be measured again.

    It is the number of the last one: others may have been moved away.
    """
    begin = attempt_name(run_id, 0).removesuffix("0")
    made = [path.name.removeprefix(begin).removesuffix(SUFFIX) for path in list_all(folder)]
    return max((int(number) for number in made if number.isdecimal()), default=0)


def write_bundle(folder: Path, manifest: Manifest, files: Mapping[str, bytes]) -> Path:
    """Write a bundle and return its path; all of it or nothing.

    Raises UserError when the disk is full or the folder cannot be written, or when there is
    a bundle of this run already: what was measured is never replaced.
    """
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    head = manifest.model_copy(update={"files": sums})
    path = bundle_path(folder, manifest.name)
    if path.exists():
        raise UserError(f"{path} exists already; a run is never measured over, move it away first")
    partial = path.with_suffix(".partial")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as raw:
            # The checksum is what guards the manifest; the manifest guards everything else.
            packer = zstandard.ZstdCompressor(level=3, write_checksum=True)
            with packer.stream_writer(raw, closefd=False) as packed:
                _write_members(packed, {_MANIFEST: _manifest_bytes(head), **files})
            raw.flush()
            os.fsync(raw.fileno())
        partial.rename(path)
        _sync_folder(folder)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(
                f"the disk that holds {folder} is full; free some space and run the same "
                "command again, nothing already measured is lost"
            ) from error
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    return path


def read_bundle(path: Path) -> Bundle:
    """Read a bundle and verify every member.

    Raises a BundleError, one line, when it cannot be used: DamagedBundleError,
    NewerBundleError, or a plain one for a bundle that does not have its run's name.
    """
    try:
        packed = path.read_bytes()
        members = _read_members(packed)
        head = json.loads(members.pop(_MANIFEST))
        schema = int(head["schema_version"])
    except (
        OSError,
        zstandard.ZstdError,
        tarfile.TarError,
        EOFError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        raise DamagedBundleError(path, f"is damaged or truncated ({first_line(error)})") from error
    if schema > BUNDLE_SCHEMA:
        raise NewerBundleError(
            path,
            f"has bundle schema {schema} and this nightshift reads up to {BUNDLE_SCHEMA}; "
            "upgrade nightshift to use it",
        )
    try:
        manifest = Manifest.model_validate(head)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise DamagedBundleError(path, f"has a manifest that does not fit at {where}") from error
    for name in sorted(members.keys() | manifest.files.keys()):
        data = members.get(name)
        if data is None or hashlib.sha256(data).hexdigest() != manifest.files.get(name):
            raise DamagedBundleError(path, f"is damaged: its member {name} is missing or altered")
    if path.name != f"{manifest.name}{SUFFIX}":
        raise BundleError(path, f"holds the run {manifest.name}; name it as its run, or remove it")
    return Bundle(manifest, members, hashlib.sha256(packed).hexdigest())


def read_manifest(path: Path) -> Manifest:
    """Read only the manifest, which comes first; what it says of other members is not verified.

    Raises DamagedBundleError when it cannot be read or does not fit, as that of a newer bundle.
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
    except (OSError, zstandard.ZstdError, tarfile.TarError, EOFError, ValueError) as error:
        raise DamagedBundleError(path, f"has no manifest ({first_line(error)})") from error


def set_aside(path: Path) -> Path:
    """Rename a damaged bundle so that its run can be measured again; nothing is deleted."""
    aside = path.with_name(path.name + ".damaged")
    path.rename(aside)
    return aside


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
                raise EOFError(f"member {info.name} is cut short")
            members[info.name] = data
    return members


def _unpack(packed: bytes) -> bytes:
    """Return the content of exactly one whole zstd frame; its checksum is verified."""
    unpacker = zstandard.ZstdDecompressor().decompressobj()
    parts, size = [], 0
    for start in range(0, len(packed), _CHUNK):
        if unpacker.eof:
            raise ValueError("something follows its end")
        parts.append(unpacker.decompress(packed[start : start + _CHUNK]))
        size += len(parts[-1])
        if size > _LARGEST:
            raise ValueError(f"it unpacks to more than {_LARGEST} bytes")
    if not unpacker.eof:
        raise EOFError("it ends too early")
    if unpacker.unused_data:
        raise ValueError("something follows its end")
    return b"".join(parts)


def _sync_folder(folder: Path) -> None:
    """Make a rename durable: the name is on disk only when its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
