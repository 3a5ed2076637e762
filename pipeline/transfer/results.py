"""Results that were measured elsewhere: packed there, collected here, each exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.analyse.outcomes import read_outcomes
from pipeline.analyse.states import histories
from pipeline.bundle import BUNDLES, EXPERIMENTS, SUFFIX, list_all
from pipeline.durable import PARTIAL
from pipeline.execute.run import BUILDS_FILE, add_builds, load_builds
from pipeline.journal import FILE as JOURNAL
from pipeline.journal import Event, EventKind, Journal
from pipeline.transfer.brought import brought_builds, brought_sums
from pipeline.transfer.folder import received, send, sha256, take

WITHIN = (BUNDLES, EXPERIMENTS, BUILDS_FILE, JOURNAL)
"""What comes from elsewhere."""

_OURS = {EventKind.BISECTED, EventKind.RESOLVED}
"""Events of experiments that are in no other file: what people decide is decided at the hub."""


@dataclass
class Collected:
    """What came: new bundles, those that were here, those that another run of them came before.

    ``experiments`` are the names of those that something new came of.
    """

    bundles: list[Path] = field(default_factory=list)
    known: int = 0
    measured_twice: list[str] = field(default_factory=list)
    experiments: set[str] = field(default_factory=set)


def pack(results: Path, folder: Path) -> int:
    """Put bundles, experiments and what is known of builds into ``folder``; return how many files.

    Raises UserError for a folder that cannot be written.
    """
    with packed(results) as files:
        send(folder, files)
        return len(files)


@contextmanager
def packed(results: Path) -> Iterator[dict[str, Path]]:
    """Give the files that were measured or found here, by the names that they travel by.

    What a hub's state brought, and this machine left as it was, stays: the hub may know better by
    now.
    """
    files = {f"{BUNDLES}/{path.name}": path for path in list_all(results / BUNDLES)}
    files |= {path.relative_to(results).as_posix(): path for path in _experiments(results)}
    if (results / JOURNAL).exists():
        files[JOURNAL] = results / JOURNAL
    for name, digest in brought_sums(results).items():
        if name.startswith(f"{EXPERIMENTS}/") and name in files and sha256(files[name]) == digest:
            del files[name]
    with TemporaryDirectory() as scratch:
        known = brought_builds(results)
        if builds := [state for state in load_builds(results) if state not in known]:
            add_builds(builds, Path(scratch))
            files[BUILDS_FILE] = Path(scratch) / BUILDS_FILE
        yield files


def collect(folder: Path, results: Path) -> Collected:
    """Take what :func:`pack` put into a folder, all of it or nothing.

    A bundle that is here is not taken again; where another one of the same run is, that one stays.
    Experiments have their newest outcomes: a machine brings those of others, too, as they were when
    it began. What the journal there says of experiments, and this one
    does not, is added, where the state of the regression allows it. Raises UserError as
    :func:`received`, and for an outcome or a journal that cannot be understood.
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
            if sha256(place) == digest:
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


def told_elsewhere(folder: Path, results: Path) -> list[Event]:
    """Take the events of experiments from the journal of a folder; return those that are new."""
    journal = Journal(results)
    happened = journal.read()
    known = histories(happened)
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
