"""Packing to a place: what is new goes first, and last the checksums that say that it is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.bundle import BUNDLES, EXPERIMENTS, SUFFIX
from pipeline.execute.watch import Watcher
from pipeline.transfer.folder import SUMS, sha256, take, write_sums
from pipeline.transfer.locks import held
from pipeline.transfer.offers import read_sums
from pipeline.transfer.places.base import Entry, Place, walk
from pipeline.transfer.results import packed


@dataclass(frozen=True)
class Pushed:
    """How many files were sent, and how many were there already."""

    sent: int
    known: int


def push(place: Place, results: Path, watcher: Watcher) -> Pushed:
    """Send what was measured and found here to a folder of its own at a place.

    A file is there already if the checksums there name its bytes and it has their number. Bundles
    that are there and not here any more stay named. Raises PlaceError.
    """
    with (
        held(results / ".pack.lock", lambda: watcher.note("another pack is at it")),
        packed(results) as found,
        TemporaryDirectory() as scratch,
    ):
        files = _still(found, Path(scratch))
        sums = {name: sha256(path) for name, path in files.items()}
        named, there = _known(place)
        new = {
            name: path
            for name, path in files.items()
            if named.get(name) != sums[name]
            or name not in there
            or there[name].size != path.stat().st_size
        }
        _send(place, new, watcher)
        kept = {
            name: digest
            for name, digest in named.items()
            if name.endswith(SUFFIX) and name in there
        }
        if new or kept | sums != named:
            told = Path(scratch) / SUMS
            write_sums(Path(scratch), kept | sums)
            place.write(SUMS, told)
        return Pushed(len(new), len(files) - len(new))


def _still(files: Mapping[str, Path], scratch: Path) -> dict[str, Path]:
    """Copy what others may write to meanwhile: what is sent has to be what was summed up."""
    found = {}
    for name, path in files.items():
        if not name.endswith(SUFFIX):
            take(path, scratch / "still" / name)
        found[name] = path if name.endswith(SUFFIX) else scratch / "still" / name
    return found


def _known(place: Place) -> tuple[dict[str, str], dict[str, Entry]]:
    """Return the checksums that a place has, and the files that are there."""
    top = place.look()
    if SUMS not in top.files:
        return {}, {}
    there = dict(top.files)
    for folder in (BUNDLES, EXPERIMENTS):
        if folder in top.folders:
            there |= walk(place, folder)
    return read_sums(place, "", top.files[SUMS]), there


def _send(place: Place, files: Mapping[str, Path], watcher: Watcher) -> None:
    sizes = {name: path.stat().st_size for name, path in files.items()}
    watcher.begin("send", sum(sizes.values()))
    try:
        for name, path in files.items():
            place.write(name, path)
            watcher.advance(sizes[name])
    finally:
        watcher.end()
