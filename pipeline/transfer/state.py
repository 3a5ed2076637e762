"""The hub's state: what a machine elsewhere needs to pursue the hub's suspicions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from sqlite3 import connect
from tempfile import TemporaryDirectory

from sqlalchemy import Engine

from pipeline.analyse.detected import FILE as DETECTED
from pipeline.bundle import EXPERIMENTS
from pipeline.errors import UserError
from pipeline.execute.discover import FILE as DISCOVERED
from pipeline.execute.run import BUILDS_FILE
from pipeline.journal import FILE as JOURNAL
from pipeline.transfer.brought import remember
from pipeline.transfer.folder import received, send, take

STORE = "store.db"

_FILES = (DISCOVERED, DETECTED, JOURNAL, BUILDS_FILE)


def pack_state(results: Path, store: Engine | None, folder: Path) -> int:
    """Put the state of the hub into ``folder``; return how many files that are.

    Without a ``store`` it is what a machine needs to measure cells: which revisions there are.
    With one also what was measured, found and decided; no bundles. Raises UserError for a store
    that is no SQLite file, and for a folder that cannot be written.
    """
    names = _FILES if store is not None else (DISCOVERED,)
    files = {name: results / name for name in names if (results / name).exists()}
    if store is None:
        send(folder, files)
        return len(files)
    for path in sorted((results / EXPERIMENTS).glob("*/*.json")):
        files[path.relative_to(results).as_posix()] = path
    with _copied(store) as copy:
        files[STORE] = copy
        send(folder, files)
    return len(files)


def take_state(folder: Path, results: Path) -> int:
    """Put the state that a folder brings in place of what is here; return how many files came.

    Bundles stay, so that nothing is measured again on a machine that keeps them. Raises UserError
    as :func:`received`.
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


@contextmanager
def _copied(store: Engine) -> Iterator[Path]:
    """Copy a store that others may write to meanwhile."""
    if store.dialect.name != "sqlite" or not store.url.database:
        raise UserError(
            "the state of a store that is no SQLite file cannot be sent; measure what is suspected "
            "on a machine that reaches that store"
        )
    with TemporaryDirectory() as folder:
        copy = Path(folder) / STORE
        with closing(connect(store.url.database)) as source, closing(connect(copy)) as target:
            source.backup(target)
        yield copy
