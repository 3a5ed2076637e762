"""Send packed results to a place: new files first, their checksums last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.files.checksum import sha256
from pipeline.files.lock import held
from pipeline.measure.progress import Watcher
from pipeline.storage.bundle import BUNDLES, EXPERIMENTS, SUFFIX
from pipeline.transfer.folder import SUMS, take, write_sums
from pipeline.transfer.offers import read_sums
from pipeline.transfer.places.base import FileEntry, Place, walk
from pipeline.transfer.results import packed


@dataclass(frozen=True)
class Pushed:
    """How many files were sent, and how many the place already had."""

    sent: int
    known: int


def push(place: Place, results: Path, watcher: Watcher, batch: str = "") -> Pushed:
    """Send this machine's results to its own folder at a place.

    A file is not sent again if the place has it with the same checksum and size. Bundles that were
    deleted here but still exist at the place stay in its list of checksums. Raises PlaceError.
    """
    with (
        held(
            results / ".pack.lock",
            waits=lambda holder: watcher.note(
                f"waiting until another `nightshift pack` ({holder}) ends"
            ),
        ),
        packed(results, batch) as found,
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
            reported = Path(scratch) / SUMS
            write_sums(Path(scratch), kept | sums)
            place.write(SUMS, reported)
        return Pushed(len(new), len(files) - len(new))


def _still(files: Mapping[str, Path], scratch: Path) -> dict[str, Path]:
    """Copy files that may change, so that the sent content matches the checksums."""
    found = {}
    for name, path in files.items():
        if not name.endswith(SUFFIX):
            take(path, scratch / "still" / name)
        found[name] = path if name.endswith(SUFFIX) else scratch / "still" / name
    return found


def _known(place: Place) -> tuple[dict[str, str], dict[str, FileEntry]]:
    """Return the files of a place: their checksums as listed, and their entries, by name."""
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
    with watcher.stage("send", sum(sizes.values())):
        for name, path in files.items():
            place.write(name, path)
            watcher.advance(sizes[name])
