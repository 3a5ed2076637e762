"""Results of other machines: packed there and collected here, each exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.files.atomic_write import PARTIAL
from pipeline.files.checksum import sha256
from pipeline.measure.run import BUILDS_FILE, add_builds, load_builds
from pipeline.regressions.repository import read_outcomes
from pipeline.regressions.states import known_regressions
from pipeline.storage.bundle import (
    BUNDLES,
    EXPERIMENTS,
    SUFFIX,
    BundleError,
    list_all,
    read_manifest,
)
from pipeline.storage.condensed import is_condensed
from pipeline.storage.journal import FILE as JOURNAL
from pipeline.storage.journal import Event, EventKind, Journal
from pipeline.transfer.folder import received, send, take
from pipeline.transfer.imported_state import imported_builds, imported_checksums

WITHIN = (BUNDLES, EXPERIMENTS, BUILDS_FILE, JOURNAL)
"""The files and folders that are collected."""

_OURS = {EventKind.BISECTED, EventKind.RESOLVED}
"""Events of experiments that no other file contains; people's decisions are made at the hub."""


@dataclass
class Collected:
    """The collected items: new bundles, known ones, and those superseded by another run.

    ``experiments`` are the names of experiments with new files.
    """

    bundles: list[Path] = field(default_factory=list)
    known: int = 0
    measured_twice: list[str] = field(default_factory=list)
    experiments: set[str] = field(default_factory=set)


def pack(results: Path, folder: Path) -> int:
    """Pack bundles, experiments and build states into ``folder``; return the number of files.

    Raises UserError for a folder that is not writable.
    """
    with packed(results) as files:
        send(folder, files)
        return len(files)


@contextmanager
def packed(results: Path) -> Iterator[dict[str, Path]]:
    """Return the local measurements and findings by their names in a transfer.

    Unchanged files of an imported hub state are left out: the hub may have newer ones.
    """
    files = {f"{BUNDLES}/{path.name}": path for path in list_all(results / BUNDLES)}
    files |= {path.relative_to(results).as_posix(): path for path in _experiments(results)}
    if (results / JOURNAL).exists():
        files[JOURNAL] = results / JOURNAL
    for name, digest in imported_checksums(results).items():
        if name.startswith(f"{EXPERIMENTS}/") and name in files and sha256(files[name]) == digest:
            del files[name]
    with TemporaryDirectory() as scratch:
        known = imported_builds(results)
        if builds := [state for state in load_builds(results) if state not in known]:
            add_builds(builds, Path(scratch))
            files[BUILDS_FILE] = Path(scratch) / BUILDS_FILE
        yield files


def collect(folder: Path, results: Path) -> Collected:
    """Take a folder that :func:`pack` wrote, all of it or nothing.

    A known bundle is not taken again; of two bundles of the same run, the existing one stays.
    Experiments keep their newest outcomes, because a machine also brings older outcomes of others
    from its imported state. The folder's journal is only checked: :func:`journal_events_from` takes
    its events. Raises UserError as :func:`received` does, and for an outcome or a journal that
    cannot be parsed.
    """
    sums = received(folder, WITHIN)
    Journal(folder).read()
    known = read_outcomes(results)
    older = {
        name
        for name, outcome in read_outcomes(folder).items()
        if name in known and outcome.at < known[name].at
    }
    found = Collected()
    for name, digest in sums.items():
        place = results / name
        if name.endswith(SUFFIX) and place.exists():
            if sha256(place) == digest or _is_pruned(place):
                found.known += 1
            else:
                found.measured_twice.append(name.removeprefix(f"{BUNDLES}/").removesuffix(SUFFIX))
            continue
        if name.startswith(f"{EXPERIMENTS}/"):
            experiment = name.split("/")[1]
            stays = experiment in older and not name.endswith(SUFFIX)
            if not stays and (not place.exists() or sha256(place) != digest):
                take(folder / name, place)
                found.experiments.add(experiment)
        elif name.startswith(f"{BUNDLES}/"):
            take(folder / name, place)
            found.bundles.append(place)
    if BUILDS_FILE in sums:
        add_builds(load_builds(folder), results)
    return found


def _is_pruned(place: Path) -> bool:
    """Whether a bundle lost its samples here, so that it differs from that of its bench."""
    try:
        return is_condensed(read_manifest(place).files)
    except BundleError:
        return False


def journal_events_from(folder: Path, results: Path) -> list[Event]:
    """Append a folder's new journal events of experiments to the local journal; return them."""
    journal = Journal(results)
    happened = journal.read()
    known = known_regressions(happened)
    new = []
    for event in Journal(folder).read():
        history = known.get(event.fingerprint)
        if event.event not in _OURS or event in happened or history is None:
            continue
        if history.allows(event.event):
            history.add(event)
            new.append(event)
    journal.append(new)
    return new


def _experiments(results: Path) -> Iterator[Path]:
    """Yield the files of experiments that were not set aside."""
    for path in sorted((results / EXPERIMENTS).glob("*/**/*")):
        own = path.relative_to(results / EXPERIMENTS)
        if path.is_file() and own.parts[0] != "aside" and path.suffix != PARTIAL:
            yield path
