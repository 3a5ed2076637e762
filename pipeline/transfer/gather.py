"""Collecting from a place: what is new there is fetched, checked, taken, and remembered.

In this order, so that whatever kills it, the next time goes on where it stopped: a file that was
taken and is not remembered is found to be known by its content.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pipeline.bundle import BundleError, DamagedBundleError
from pipeline.errors import UserError
from pipeline.execute.watch import Watcher
from pipeline.journal import FILE as JOURNAL
from pipeline.transfer.folder import sha256, write_sums
from pipeline.transfer.locks import held
from pipeline.transfer.memory import Memory, Taken
from pipeline.transfer.offers import Offered, Offers, at, boxes, offers
from pipeline.transfer.parts import Parts
from pipeline.transfer.places.base import ChangedError, Place, PlaceError
from pipeline.transfer.results import Collected

INCOMING = "incoming"
"""The folder of the results in which files from places arrive."""

_BATCH = 256 << 20
"""Bytes of bundles that are taken at a time: what is on the disk twice, and what is not lost to a
night when the line breaks."""

Take = Callable[[Path], Collected]
"""Takes a folder as ``pack`` writes it, all of it or nothing."""


@dataclass
class Gathered:
    """What was taken from a place, how many bundles were known, and lines of what was not taken."""

    taken: list[Collected] = field(default_factory=list)
    known: int = 0
    wrong: list[str] = field(default_factory=list)


def gather(
    place: Place, results: Path, take: Take, watcher: Watcher, clock: Callable[[], datetime]
) -> Gathered:
    """Collect from a place into ``results``, by ``take``.

    What is wrong with one file, or one folder, keeps no other from being taken; so does a disk
    that is full here. Raises PlaceError for a place that holds nothing, or is not reached.
    """
    gathered = Gathered()
    for box in boxes(place):
        try:
            _Box(place, box, results, take, watcher, clock, gathered).collect()
        except UserError as error:
            gathered.wrong.append(str(error))
        except OSError as error:
            gathered.wrong.append(f"{results} cannot take what {place.name} has: {error}")
    return gathered


class _Box:
    """One folder of a place, as it is collected."""

    def __init__(
        self,
        place: Place,
        box: str,
        results: Path,
        take: Take,
        watcher: Watcher,
        clock: Callable[[], datetime],
        gathered: Gathered,
    ) -> None:
        self._place, self._box, self._results = place, box, results
        self._take, self._watcher, self._clock = take, watcher, clock
        self._gathered = gathered
        self._where = at(place.name, box) if box else place.name
        slug = hashlib.sha256(self._where.encode()).hexdigest()[:16]
        self._folder = results / INCOMING / slug
        self._inbox = self._folder / "box"

    def collect(self) -> None:
        """Fetch and take what is new. Raises UserError for what ends it early."""
        with held(self._folder / ".lock", lambda: self._watcher.note("another collect is at it")):
            # Under the lock: what another collect took is known then.
            self._memory = Memory(self._results)
            self._parts = Parts(self._folder / "parts", self._place, self._box, self._watcher)
            offered = offers(self._place, self._box)
            self._gathered.wrong += offered.wrong
            self._parts.forget(offered.files)
            self._fetch(self._bundles(offered), self._small(offered))

    def _fetch(self, bundles: Sequence[Offered], small: Sequence[Offered]) -> None:
        missing = sum(self._parts.missing(each) for each in [*bundles, *small])
        self._watcher.begin("fetch", missing)
        try:
            for batch in _batches(bundles):
                self._deliver(batch)
            self._deliver(small)
        finally:
            self._watcher.end()

    def _bundles(self, offered: Offers) -> list[Offered]:
        """Return the bundles that are new, and count those that are known."""
        new, here = [], []
        for each in offered.files:
            if not each.is_bundle:
                continue
            taken = self._memory.find(self._where, each)
            if taken is None and not self._is_here(each):
                new.append(each)
                continue
            if taken is None:
                here.append(self._taken(each, each.digest))
            if taken is not None and taken.refused:
                self._gathered.wrong.append(taken.refused)
            else:
                self._gathered.known += 1
        self._memory.add(here)
        return new

    def _is_here(self, offered: Offered) -> bool:
        """Say whether a bundle came another way; only its checksum can tell."""
        place = self._results / offered.name
        return bool(offered.digest) and place.exists() and sha256(place) == offered.digest

    def _small(self, offered: Offers) -> list[Offered]:
        """Return the files that are no bundles, of those experiments of which any is new.

        They are about one another, so those of an experiment come together. The journal always
        comes: what it tells of a regression may be understood only once that is found here. It is
        transferred only if it is new, as its part is kept.
        """
        small = [each for each in offered.files if not each.is_bundle]
        new = {each for each in small if self._memory.find(self._where, each) is None}
        about = {each.experiment for each in new} - {""}
        return [each for each in small if each in new or each.experiment in about]

    def _deliver(self, batch: Sequence[Offered]) -> None:
        """Fetch files and take them. What broke off is raised once what came before is taken."""
        shutil.rmtree(self._inbox, ignore_errors=True)
        came: dict[Offered, str] = {}
        damaged: list[Taken] = []
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
                self._gathered.wrong.append(f"{error}; another collect tries again")
            except PlaceError as error:
                broken = error
                break
        self._finish(_whole(batch, came), damaged)
        if broken is not None:
            raise broken

    def _finish(self, came: Mapping[Offered, str], damaged: Sequence[Taken]) -> None:
        """Take what came, then remember it, then remove its parts."""
        if came:
            self._inbox.mkdir(parents=True, exist_ok=True)
            write_sums(self._inbox, {each.name: digest for each, digest in came.items()})
            try:
                self._gathered.taken.append(self._take(self._inbox))
            except UserError as error:
                raise UserError(self._in_its_words(error)) from error
        taken = [self._taken(each, digest) for each, digest in came.items()]
        self._memory.add([*(each for each in taken if each.name != JOURNAL), *damaged])
        shutil.rmtree(self._inbox, ignore_errors=True)
        self._parts.drop(each for each in came if each.name != JOURNAL)

    def _taken(self, offered: Offered, digest: str, refused: str = "") -> Taken:
        return Taken(
            at=self._clock(),
            place=self._where,
            name=offered.name,
            sha256=digest,
            size=offered.entry.size,
            stamp=offered.entry.stamp,
            refused=refused,
        )

    def _in_its_words(self, error: UserError) -> str:
        """Return a line that names the file where it came from."""
        return str(error).replace(str(self._inbox), self._where)


def _whole(batch: Sequence[Offered], came: Mapping[Offered, str]) -> dict[Offered, str]:
    """Return what can be taken of what came.

    The small files of an experiment are taken together. The journal stays away if any small file
    did: it may tell of what they say.
    """
    failed = [each for each in batch if each not in came and not each.is_bundle]
    about = {each.experiment for each in failed} - {""}
    return {
        each: digest
        for each, digest in came.items()
        if each.is_bundle
        or (each.experiment not in about and not (failed and each.name == JOURNAL))
    }


def _batches(bundles: Sequence[Offered]) -> Iterator[list[Offered]]:
    """Yield bundles, as many at a time as are taken at once."""
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
