"""Transfer the hub's state to benches, which need it to confirm and bisect regressions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from sqlite3 import connect
from tempfile import TemporaryDirectory

from sqlalchemy import Engine

from pipeline.measure.discover import FILE as DISCOVERED
from pipeline.measure.run import BUILDS_FILE
from pipeline.regressions.detected import FILE as DETECTED
from pipeline.regressions.repository import read_outcomes
from pipeline.regressions.states import known_regressions
from pipeline.storage.bundle import BUNDLES, EXPERIMENTS, list_all
from pipeline.storage.journal import FILE as JOURNAL
from pipeline.storage.journal import EventKind, Journal
from pipeline.text.errors import UserError
from pipeline.transfer.batches import FILE as HANDED_OUT
from pipeline.transfer.folder import received, send, take
from pipeline.transfer.imported_state import remember

STORE = "store.db"

_PLAN = (DISCOVERED, HANDED_OUT)
_FILES = (*_PLAN, DETECTED, JOURNAL, BUILDS_FILE)


def pack_state(results: Path, store: Engine | None, folder: Path) -> int:
    """Pack the hub's state into a folder; return the number of files.

    Without a ``store``, the state lists the revisions, which a machine needs to measure cells. With
    a ``store``, it also has measurements, findings and decisions, and the bundles of undecided
    experiments, so that a machine can continue them. Raises UserError for a store that is not a
    SQLite file, and for a folder that is not writable.
    """
    names = _FILES if store is not None else _PLAN
    files = {name: results / name for name in names if (results / name).exists()}
    if store is None:
        send(folder, files)
        return len(files)
    for path in sorted((results / EXPERIMENTS).glob("*/*.json")):
        files[path.relative_to(results).as_posix()] = path
    for name in _unfinished(results):
        for path in list_all(results / EXPERIMENTS / name / BUNDLES):
            files[path.relative_to(results).as_posix()] = path
    with _copied(store) as copy:
        files[STORE] = copy
        send(folder, files)
    return len(files)


def take_state(folder: Path, results: Path) -> int:
    """Replace this machine's state by that of the hub; return the number of files.

    The bundles of this machine stay, so their runs are not measured again. Raises UserError as
    :func:`received` does.
    """
    sums = received(folder, (*_FILES, STORE, EXPERIMENTS))
    for name in (STORE, f"{STORE}-wal", f"{STORE}-shm"):
        if STORE in sums:
            (results / name).unlink(missing_ok=True)
    for name in sums:
        take(folder / name, results / name)
    if STORE in sums:
        remember(results, sums)
    return len(sums)


def _unfinished(results: Path) -> Iterator[str]:
    """Yield the experiments that a bench has to continue."""
    for name, outcome in read_outcomes(results).items():
        if outcome.verdict == "undecided":
            yield name
    for known in known_regressions(Journal(results).read()).values():
        if known.regression.culprit is None or not known.regression.culprit.confirmed:
            searches = (event for event in known.events if event.event is EventKind.BISECTED)
            yield from {event.experiment for event in searches if event.experiment}


@contextmanager
def _copied(store: Engine) -> Iterator[Path]:
    """Copy a store while other processes may write to it."""
    if store.dialect.name != "sqlite" or not store.url.database:
        raise UserError(
            "only the state of a SQLite store can be packed; confirm and bisect on a machine "
            "that can reach the PostgreSQL store"
        )
    with TemporaryDirectory() as folder:
        copy = Path(folder) / STORE
        with closing(connect(store.url.database)) as source, closing(connect(copy)) as target:
            source.backup(target)
        yield copy
