"""What a place has for the hub: a folder that `pack` wrote, or simply the results of a nightshift.

What `pack` wrote says by its ``SHA256SUMS``, which is written last, what there is. The results of
a nightshift say it by themselves: a bundle has its name once it is whole, as other files have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pipeline.analyse.record import ASIDE
from pipeline.bundle import BUNDLES, EXPERIMENTS, SUFFIX
from pipeline.durable import PARTIAL
from pipeline.errors import UserError
from pipeline.execute.run import BUILDS_FILE
from pipeline.journal import FILE as JOURNAL
from pipeline.transfer.folder import SUMS, is_file, parse_sums
from pipeline.transfer.places.base import LARGEST, Entry, Listing, Place, PlaceError, walk
from pipeline.transfer.results import WITHIN

_LONGEST_SUMS = 256 << 20
"""Bytes of checksums: two million lines."""


@dataclass(frozen=True)
class Offered:
    """A file at a place: its name in the results, and as it is listed where it is.

    ``digest`` is its SHA-256, or empty where the place does not tell it.
    """

    name: str
    entry: Entry
    digest: str = ""

    @property
    def is_bundle(self) -> bool:
        """Say whether it is a bundle: of a night, or of an experiment."""
        return self.name.endswith(SUFFIX)

    @property
    def experiment(self) -> str:
        """The experiment that it is about; empty for none."""
        parts = PurePosixPath(self.name).parts
        return parts[1] if parts[0] == EXPERIMENTS else ""


@dataclass
class Offers:
    """What one folder of a place has, and what is wrong with the rest of it, in lines."""

    files: list[Offered] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def boxes(place: Place) -> list[str]:
    """Return the folders of a place that hold something for the hub: itself, or some below it.

    Raises PlaceError where there are none.
    """
    top = place.look()
    if _holds(top):
        return [""]
    found = [name for name in sorted(top.folders) if _holds(place.look(name))]
    if not found:
        raise PlaceError(
            place.name, "holds nothing that `nightshift pack` or a night left there; see its path"
        )
    return found


def offers(place: Place, box: str) -> Offers:
    """Return what a folder of a place has. Raises PlaceError, and UserError for wrong checksums."""
    top = place.look(box)
    there = _there(place, box, top)
    if SUMS not in top.files:
        found = Offers([Offered(name, entry) for name, entry in there.items()])
    else:
        found = _named(place, box, there, read_sums(place, box, top.files[SUMS], WITHIN))
    large = [each for each in found.files if each.entry.size > LARGEST]
    for each in large:
        found.files.remove(each)
        found.wrong.append(f"{place.name}: {at(box, each.name)} is larger than any file of ours")
    return found


def at(box: str, name: str) -> str:
    """Return the name in a place of a file of one of its folders."""
    return f"{box}/{name}" if box else name


def read_sums(
    place: Place, box: str, entry: Entry, within: tuple[str, ...] = WITHIN
) -> dict[str, str]:
    """Return the checksums in a folder of a place. Raises as :func:`offers`."""
    where = f"{place.name}/{box}" if box else place.name
    if entry.size > _LONGEST_SUMS:
        raise PlaceError(where, f"has a {SUMS} of {entry.size} bytes: nothing is taken")
    data = b"".join(place.read(at(box, SUMS), entry))
    try:
        return parse_sums(data.decode(), within, where)
    except UnicodeDecodeError as error:
        raise UserError(f"{where}/{SUMS} is no text; pack again") from error


def _holds(listing: Listing) -> bool:
    return SUMS in listing.files or BUNDLES in listing.folders


def _there(place: Place, box: str, top: Listing) -> dict[str, Entry]:
    """Return the files of a folder that are of those that come, by their names in results."""
    found = {name: top.files[name] for name in (BUILDS_FILE, JOURNAL) if name in top.files}
    for folder in (BUNDLES, EXPERIMENTS):
        if folder in top.folders:
            listed = walk(place, at(box, folder))
            start = len(at(box, ""))
            found |= {name[start:]: entry for name, entry in listed.items()}
    return {name: entry for name, entry in found.items() if _travels(name)}


def _travels(name: str) -> bool:
    """Say whether a file of results is one that is packed: see results.pack."""
    parts = PurePosixPath(name).parts
    if parts[0] == BUNDLES:
        return len(parts) == 2 and name.endswith(SUFFIX) and is_file(name)
    return is_file(name) and parts[1:2] != (ASIDE,) and not name.endswith(PARTIAL)


def _named(place: Place, box: str, there: Mapping[str, Entry], sums: Mapping[str, str]) -> Offers:
    """Return what checksums name; what they do not is not whole yet."""
    found = Offers()
    for name, digest in sums.items():
        if name in there:
            found.files.append(Offered(name, there[name], digest))
        else:
            found.wrong.append(f"{place.name}: {at(box, name)} is missing there; pack again")
    return found
