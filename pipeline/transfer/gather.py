"""Collect from a place: fetch, check, take and record new files, in this order.

An interrupted collection resumes where it stopped: a file that was taken but not recorded is
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
from pipeline.storage.journal import FILE as JOURNAL
from pipeline.text.errors import UserError
from pipeline.transfer.collected import CollectedFile, Memory
from pipeline.transfer.folder import write_sums
from pipeline.transfer.offers import Offered, Offers, offers, path_in, result_folders
from pipeline.transfer.partial import Parts
from pipeline.transfer.places.base import ChangedError, Place, PlaceError
from pipeline.transfer.results import Collected

INCOMING = "incoming"
"""The folder of the results in which files from places arrive."""

_BATCH = 256 << 20
"""Bytes of bundles to take at a time: the disk space used twice, and the batches that survive an
interruption."""

Take = Callable[[Path], Collected]
"""Takes a folder as ``pack`` writes it, all of it or nothing."""


@dataclass
class Gathered:
    """The bundles taken from a place, the number of known ones, and lines about refused files."""

    taken: list[Collected] = field(default_factory=list)
    known: int = 0
    wrong: list[str] = field(default_factory=list)


def gather(
    place: Place, results: Path, take: Take, watcher: Watcher, clock: Callable[[], datetime]
) -> Gathered:
    """Collect from a place into ``results`` with ``take``.

    A wrong file or folder does not prevent the others from being taken, nor does a full local disk.
    Raises PlaceError for a place that holds nothing, or is not reachable.
    """
    gathered = Gathered()
    for box in result_folders(place):
        try:
            _Box(place, box, results, take, watcher, clock, gathered).collect()
        except UserError as error:
            gathered.wrong.append(str(error))
        except OSError as error:
            gathered.wrong.append(f"{results} cannot store the files of {place.name}: {error}")
    return gathered


class _Box:
    """The collection of one folder of a place."""

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
        self._where = path_in(place.name, box) if box else place.name
        slug = hashlib.sha256(self._where.encode()).hexdigest()[:16]
        self._folder = results / INCOMING / slug
        self._inbox = self._folder / "box"

    def collect(self) -> None:
        """Fetch and take new files. Raises UserError for an early end."""
        with held(
            self._folder / ".lock",
            waits=lambda holder: self._watcher.note(f"another collect ({holder}) is running"),
        ):
            # The lock protects the record: another collection's files are known afterwards.
            self._memory = Memory(self._results)
            self._parts = Parts(self._folder / "parts", self._place, self._box, self._watcher)
            offered = offers(self._place, self._box)
            self._gathered.wrong += offered.wrong
            self._parts.forget(offered.files)
            self._fetch(self._bundles(offered), self._small(offered))

    def _fetch(self, bundles: Sequence[Offered], small: Sequence[Offered]) -> None:
        missing = sum(self._parts.missing(each) for each in [*bundles, *small])
        with self._watcher.stage("fetch", missing):
            for batch in _batches(bundles):
                self._deliver(batch)
            self._deliver(small)

    def _bundles(self, offered: Offers) -> list[Offered]:
        """Return the new bundles, and count the known ones."""
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
        """Whether a bundle already arrived another way; only its checksum shows that."""
        place = self._results / offered.name
        return bool(offered.digest) and place.exists() and sha256(place) == offered.digest

    def _small(self, offered: Offers) -> list[Offered]:
        """Return the files other than bundles, of experiments with any new file.

        The files of an experiment refer to each other, so they are taken together. The journal is
        always taken: its events on a regression may become valid only once that regression is found
        here. It is transferred only if it is new, because its part is kept.
        """
        small = [each for each in offered.files if not each.is_bundle]
        new = {each for each in small if self._memory.find(self._where, each) is None}
        about = {each.experiment for each in new} - {""}
        return [each for each in small if each in new or each.experiment in about]

    def _deliver(self, batch: Sequence[Offered]) -> None:
        """Fetch files and take them; raise a transfer's failure after taking the earlier files."""
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
        self._finish(_whole(batch, came), damaged)
        if broken is not None:
            raise broken

    def _finish(self, came: Mapping[Offered, str], damaged: Sequence[CollectedFile]) -> None:
        """Take the fetched files, then record them, then remove their parts."""
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

    def _in_its_words(self, error: UserError) -> str:
        """Return an error as a line that names the file at its source."""
        return str(error).replace(str(self._inbox), self._where)


def _whole(batch: Sequence[Offered], came: Mapping[Offered, str]) -> dict[Offered, str]:
    """Return the files that can be taken.

    The small files of an experiment are taken together. The journal is omitted if any small file is
    missing, because its events may refer to it.
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
    """Yield bundles in batches that are taken at once."""
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
