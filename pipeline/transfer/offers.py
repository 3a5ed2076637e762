"""Find the files that a place has for the hub: packed ones, or a whole results folder.

A packed folder lists its files in ``SHA256SUMS``, which is written last. A results folder needs no
list, because bundles and other files get their names only when they are complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pydantic import ValidationError

from pipeline.experiments.recorded import SEARCH
from pipeline.measure.run import BUILDS_FILE
from pipeline.storage.bundle import BUNDLES, EXPERIMENTS, SUFFIX
from pipeline.text.errors import UserError
from pipeline.transfer.batches import CLAIM, LONGEST_CLAIM, BatchClaim
from pipeline.transfer.folder import LONGEST_SUMS, SUMS, is_file, parse_sums
from pipeline.transfer.places.base import LARGEST, FileEntry, Listing, Place, PlaceError, walk
from pipeline.transfer.results import WITHIN


@dataclass(frozen=True)
class Offered:
    """A file that a place has: its name in a results folder, and its size and time.

    ``digest`` is its SHA-256, or empty if the place does not provide it.
    """

    name: str
    entry: FileEntry
    digest: str = ""

    @property
    def is_bundle(self) -> bool:
        """Whether the file is a bundle, of a night or of an experiment."""
        return self.name.endswith(SUFFIX)


@dataclass
class Offers:
    """The files that a folder of a place offers, and a message about each unusable one."""

    files: list[Offered] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def result_folders(place: Place) -> list[str]:
    """Return the folders of a place that have files for the hub.

    Raises PlaceError if there are none.
    """
    top = place.look()
    if _holds(top):
        return [""]
    found = [name for name in sorted(top.folders) if _holds(place.look(name))]
    if not found:
        raise PlaceError(
            place.name, "holds no results of `nightshift pack` or of a night; check the path"
        )
    return found


def offers(place: Place, box: str) -> Offers:
    """Return the files that a folder offers. Raises PlaceError or UserError if it is unusable."""
    top = place.look(box)
    there = _there(place, box, top)
    if SUMS not in top.files:
        found = Offers([Offered(name, entry) for name, entry in there.items()])
    else:
        found = _named(place, box, there, read_sums(place, box, top.files[SUMS], WITHIN))
    large = [each for each in found.files if each.entry.size > LARGEST]
    for each in large:
        found.files.remove(each)
        found.wrong.append(
            f"{place.name}: {path_in(box, each.name)} is larger than any file that nightshift "
            "writes"
        )
    return found


def claim_in(place: Place, box: str, found: Offers) -> str:
    """Return the id of the batch that a folder answers; empty without one.

    Raises PlaceError, and UserError for a claim that cannot be read.
    """
    for each in found.files:
        if each.name == CLAIM:
            where = f"{place.name}: {path_in(box, CLAIM)}"
            if each.entry.size > LONGEST_CLAIM:
                raise UserError(
                    f"{where} holds more than the id of a batch, so it is refused; pack the "
                    "results again with `nightshift pack`"
                )
            data = b"".join(place.read(path_in(box, CLAIM), each.entry))
            try:
                return BatchClaim.model_validate_json(data).id
            except ValidationError as error:
                raise UserError(
                    f"{where} does not name the batch that was measured; run `nightshift pack` "
                    "again"
                ) from error
    return ""


def path_in(box: str, name: str) -> str:
    """Return the path of a file at a place, from its folder and name."""
    return f"{box}/{name}" if box else name


def read_sums(
    place: Place, box: str, entry: FileEntry, within: tuple[str, ...] = WITHIN
) -> dict[str, str]:
    """Return the checksums that a folder of a place lists."""
    where = f"{place.name}/{box}" if box else place.name
    if entry.size > LONGEST_SUMS:
        raise PlaceError(
            where, f"has a {SUMS} of {entry.size} bytes, which is too large: nothing was collected"
        )
    data = b"".join(place.read(path_in(box, SUMS), entry))
    try:
        return parse_sums(data.decode(), within, where)
    except UnicodeDecodeError as error:
        raise UserError(f"{where}/{SUMS} is not a text file; pack again") from error


def _holds(listing: Listing) -> bool:
    return SUMS in listing.files or BUNDLES in listing.folders


def _there(place: Place, box: str, top: Listing) -> dict[str, FileEntry]:
    """Return the files of a folder that may be transferred, by their names."""
    found = {name: top.files[name] for name in (BUILDS_FILE, CLAIM) if name in top.files}
    for folder in (BUNDLES, EXPERIMENTS):
        if folder in top.folders:
            listed = walk(place, path_in(box, folder))
            start = len(path_in(box, ""))
            found |= {name[start:]: entry for name, entry in listed.items()}
    return {name: entry for name, entry in found.items() if _travels(name)}


def _travels(name: str) -> bool:
    """Whether a file of a results folder may be transferred."""
    if not is_file(name):
        return False
    match PurePosixPath(name).parts:
        case (_,):
            return True
        case (folder, file):
            return folder == BUNDLES and file.endswith(SUFFIX)
        case (_, _, file):
            return file == SEARCH
        case (_, _, folder, file):
            return folder == BUNDLES and file.endswith(SUFFIX)
    return False


def _named(
    place: Place, box: str, there: Mapping[str, FileEntry], sums: Mapping[str, str]
) -> Offers:
    """Return the files that a list of checksums names; all other files may be incomplete."""
    found = Offers()
    for name, digest in sums.items():
        if not _travels(name):
            found.wrong.append(
                f"{place.name}: {path_in(box, name)} is not a file that nightshift collects"
            )
        elif name in there:
            found.files.append(Offered(name, there[name], digest))
        else:
            found.wrong.append(f"{place.name}: {path_in(box, name)} is missing; pack again")
    return found
