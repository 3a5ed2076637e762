"""Collect new files from a place: download, check, move into the results, and record them.

Only what the hub asked for is fetched.

An interrupted collection resumes where it stopped: a file that was collected but not recorded is
recognised by its content.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pipeline.files.checksum import sha256
from pipeline.files.lock import held
from pipeline.measure.progress import Watcher
from pipeline.storage.bundle import BundleError, DamagedBundleError
from pipeline.text.errors import UserError
from pipeline.transfer.assignment import Assignment
from pipeline.transfer.batches import CLAIM
from pipeline.transfer.collected import CollectedFile, Memory
from pipeline.transfer.folder import write_sums
from pipeline.transfer.offers import Offered, Offers, claim_in, offers, path_in, result_folders
from pipeline.transfer.partial import Parts
from pipeline.transfer.places.base import ChangedError, Place, PlaceError
from pipeline.transfer.results import Collected

INCOMING = "incoming"
"""The folder of the results in which files from places arrive."""

_BATCH = 256 << 20
"""Size in bytes of a group of bundles that are downloaded, then added to the results together. They
need this much disk space twice, and after an interruption at most this much is repeated."""

Take = Callable[[Path, Assignment], Collected]
"""Collects from a packed folder the files that the assignment asks for."""

Ask = Callable[[str, str], Assignment]
"""Returns what the hub asked of a bench. The arguments are the batch that a folder names (empty
without one), and the place of the folder.

Raises UserError for a bench of which the hub asked nothing.
"""


@dataclass
class Gathered:
    """What was collected from a place: new bundles, how many known ones, refused files."""

    taken: list[Collected] = field(default_factory=list)
    known: int = 0
    wrong: list[str] = field(default_factory=list)


def gather(
    place: Place,
    results: Path,
    take: Take,
    ask: Ask,
    watcher: Watcher,
    clock: Callable[[], datetime],
) -> Gathered:
    """Collect from a place what the hub asked for, into the results folder.

    An unusable file or folder, or a full local disk, does not stop the collection of the others.
    Raises PlaceError for a place that holds nothing, or is not reachable.
    """
    gathered = Gathered()
    for box in result_folders(place):
        try:
            _Box(place, box, results, take, ask, watcher, clock, gathered).collect()
        except UserError as error:
            gathered.wrong.append(str(error))
        except OSError as error:
            gathered.wrong.append(f"{results} cannot store the files of {place.name}: {error}")
    return gathered


class _Box:
    """Collects the files of one folder of a place."""

    def __init__(
        self,
        place: Place,
        box: str,
        results: Path,
        take: Take,
        ask: Ask,
        watcher: Watcher,
        clock: Callable[[], datetime],
        gathered: Gathered,
    ) -> None:
        self._place, self._box, self._results = place, box, results
        self._take, self._ask, self._watcher, self._clock = take, ask, watcher, clock
        self._gathered = gathered
        self._where = path_in(place.name, box) if box else place.name
        slug = hashlib.sha256(self._where.encode()).hexdigest()[:16]
        self._folder = results / INCOMING / slug
        self._inbox = self._folder / "box"

    def collect(self) -> None:
        """Download the new files and add them to the results. Raises UserError if it must stop."""
        with held(
            self._folder / ".lock",
            waits=lambda holder: self._watcher.note(
                f"waiting until another `nightshift collect` ({holder}) ends"
            ),
        ):
            # The lock protects the record: another collection's files are known afterwards.
            self._memory = Memory(self._results)
            self._parts = Parts(self._folder / "parts", self._place, self._box, self._watcher)
            offered = offers(self._place, self._box)
            self._gathered.wrong += offered.wrong
            self._asked = self._ask(claim_in(self._place, self._box, offered), self._where)
            self._parts.forget(offered.files)
            self._fetch(self._bundles(offered), self._small(offered))

    def _fetch(self, bundles: Sequence[Offered], small: Sequence[Offered]) -> None:
        missing = sum(self._parts.missing(each) for each in [*bundles, *small])
        with self._watcher.stage("fetch", missing):
            for batch in _batches(bundles):
                self._deliver(batch)
            self._deliver(small)

    def _bundles(self, offered: Offers) -> list[Offered]:
        """Return the new bundles that the hub asked for, and count the known ones."""
        new: dict[str, Offered] = {}
        here = []
        for each in offered.files:
            if not each.is_bundle:
                continue
            taken = self._memory.find(self._where, each)
            if taken is None and not self._is_here(each):
                new[each.name] = each
                continue
            if taken is None:
                here.append(self._taken(each, each.digest))
            if taken is not None and taken.refused:
                self._gathered.wrong.append(taken.refused)
            else:
                self._gathered.known += 1
        self._memory.add(here)
        chosen, others = self._asked.chosen(new, self._where)
        self._gathered.wrong += others.values()
        return [new[name] for name in chosen]

    def _is_here(self, offered: Offered) -> bool:
        """Whether the results folder has the same bundle already, from elsewhere."""
        place = self._results / offered.name
        return bool(offered.digest) and place.exists() and sha256(place) == offered.digest

    def _small(self, offered: Offers) -> list[Offered]:
        """Return the new files that are not bundles and that the hub asked for."""
        return [
            each
            for each in offered.files
            if not each.is_bundle
            and each.name != CLAIM
            and self._asked.asks(each.name)
            and self._memory.find(self._where, each) is None
        ]

    def _deliver(self, batch: Sequence[Offered]) -> None:
        """Download files and add them to the results; a failure does not lose earlier files."""
        shutil.rmtree(self._inbox, ignore_errors=True)
        came: dict[Offered, str] = {}
        damaged: list[CollectedFile] = []
        broken: PlaceError | None = None
        for offered in batch:
            try:
                came[offered] = self._parts.fetch(offered, self._inbox / offered.name)
            except BundleError as error:
                line = self._in_its_words(error)
                self._gathered.wrong.append(line)
                if isinstance(error, DamagedBundleError):
                    damaged.append(self._taken(offered, offered.digest, line))
            except ChangedError as error:
                self._gathered.wrong.append(f"{error}; the next collect tries again")
            except PlaceError as error:
                broken = error
                break
        self._finish(came, damaged)
        if broken is not None:
            raise broken

    def _finish(self, came: Mapping[Offered, str], damaged: Sequence[CollectedFile]) -> None:
        """Add downloaded files to the results, record them, and delete their partial downloads."""
        refused: dict[str, str] = {}
        if came:
            self._inbox.mkdir(parents=True, exist_ok=True)
            write_sums(self._inbox, {each.name: digest for each, digest in came.items()})
            try:
                taken = self._take(self._inbox, self._asked)
            except UserError as error:
                raise UserError(self._in_its_words(error)) from error
            refused = {name: self._in_its_words(line) for name, line in taken.refused.items()}
            self._gathered.taken.append(taken)
            self._gathered.wrong += refused.values()
        new = [
            self._taken(each, digest, refused.get(each.name, "")) for each, digest in came.items()
        ]
        self._memory.add([*new, *damaged])
        shutil.rmtree(self._inbox, ignore_errors=True)
        self._parts.drop(came)

    def _taken(self, offered: Offered, digest: str, refused: str = "") -> CollectedFile:
        return CollectedFile(
            at=self._clock(),
            place=self._where,
            name=offered.name,
            sha256=digest,
            size=offered.entry.size,
            stamp=offered.entry.stamp,
            refused=refused,
        )

    def _in_its_words(self, error: UserError | str) -> str:
        """Return an error as one line that names the file at its place."""
        return str(error).replace(str(self._inbox), self._where)


def _batches(bundles: Sequence[Offered]) -> Iterator[list[Offered]]:
    """Yield bundles in groups that are added to the results together."""
    batch: list[Offered] = []
    size = 0
    for each in bundles:
        if batch and size + each.entry.size > _BATCH:
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += each.entry.size
    if batch:
        yield batch
