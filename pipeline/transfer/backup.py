"""Back up everything on a hub that cannot be derived again, each file only once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from sqlite3 import DatabaseError, connect
from tempfile import TemporaryDirectory

from pipeline.files.atomic_write import PARTIAL
from pipeline.files.checksum import sha256
from pipeline.files.lock import held
from pipeline.measure.progress import Watcher
from pipeline.storage.bundle import BUNDLES, EXPERIMENTS, SUFFIX, list_all
from pipeline.text.errors import UserError
from pipeline.transfer.generation import (
    CONFIG,
    GRAFANA,
    RESULTS,
    BackedUpFile,
    Generation,
    contents,
    generations,
    read_generation,
    remove_generations,
    write_generation,
)
from pipeline.transfer.places.base import Place

APPENDED = (
    "journal.jsonl",
    "nights.jsonl",
    "fleet.jsonl",
    "delivered.jsonl",
    "collected.jsonl",
    "batches.jsonl",
)
"""Append-only files of the results. They are copied first, up to their last complete line, so that
the backup has all files that they mention."""

WRITTEN = ("github.json",)
"""Files of the results that are replaced as a whole when they change."""

_DATABASE = "grafana.db"
_LEFT_OUT = (f"{_DATABASE}-wal", f"{_DATABASE}-shm", f"{_DATABASE}-journal")


@dataclass(frozen=True)
class Sources:
    """What a backup holds: the results folder, Grafana's data, the configuration."""

    results: Path
    grafana: Path
    config: Path


@dataclass(frozen=True)
class Done:
    """The result of a backup: its name, how many files it has, how many were sent.

    ``bytes`` is the size of the ``sent`` contents; ``removed`` counts the older backups that were
    removed.
    """

    name: str
    files: int
    sent: int
    bytes: int
    removed: int


def backup(place: Place, sources: Sources, keep: int, at: datetime, watcher: Watcher) -> Done:
    """Back up to a place, and keep the newest ``keep`` backups there.

    An interruption is safe: the list of the backup's files is written last, and without it there is
    no backup. Raises PlaceError, and UserError for an unreadable Grafana database.
    """
    with (
        held(
            sources.results / ".backup.lock",
            waits=lambda holder: watcher.note(f"waiting until another backup ({holder}) ends"),
        ),
        TemporaryDirectory() as folder,
    ):
        scratch = Path(folder)
        names = generations(place)
        known = read_generation(place, names[-1]).files if names else {}
        files = dict(_files(sources, scratch / "still"))
        kept: dict[str, BackedUpFile] = {}
        for name, path in files.items():
            with suppress(FileNotFoundError):  # A bundle that was just set aside.
                kept[name] = _kept(path, known.get(name))
        there = contents(place)
        new = {
            each.place: (files[name], each.size)
            for name, each in kept.items()
            if each.place not in there or there[each.place].size != each.size
        }
        _send(place, new, watcher)
        names.append(write_generation(place, Generation(at=at, files=kept), scratch))
        old = names[:-keep]
        if old:
            remove_generations(place, old, names[-keep:])
        size = sum(size for _, size in new.values())
        return Done(names[-1], len(kept), len(new), size, len(old))


def _send(place: Place, new: Mapping[str, tuple[Path, int]], watcher: Watcher) -> None:
    with watcher.stage("backup", sum(size for _, size in new.values())):
        for name, (path, size) in new.items():
            place.write(name, path)
            watcher.advance(size)


def _kept(path: Path, before: BackedUpFile | None) -> BackedUpFile:
    """Return a file with its checksum; bundles never change, so each is read only once."""
    state = path.stat()
    same = before is not None and (before.size, before.modified) == (
        state.st_size,
        state.st_mtime_ns,
    )
    if before is not None and same and path.name.endswith(SUFFIX):
        return before
    return BackedUpFile(sha256=sha256(path), size=state.st_size, modified=state.st_mtime_ns)


def _files(sources: Sources, still: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files to back up, by their names in the backup."""
    results = sources.results
    for name in APPENDED:
        if (results / name).exists():
            text = (results / name).read_bytes()
            yield f"{RESULTS}/{name}", _still(still / name, text[: text.rfind(b"\n") + 1])
    for name in WRITTEN:
        if (results / name).exists():
            yield f"{RESULTS}/{name}", _still(still / name, (results / name).read_bytes())
    if sources.config.exists():
        yield CONFIG, _still(still / CONFIG, sources.config.read_bytes())
    for path in _below(results / EXPERIMENTS):
        name = path.relative_to(results).as_posix()
        if path.name.endswith(SUFFIX):
            yield f"{RESULTS}/{name}", path
        elif not path.name.endswith(PARTIAL):
            with suppress(FileNotFoundError):  # An experiment that was just set aside.
                yield f"{RESULTS}/{name}", _still(still / name, path.read_bytes())
    for path in list_all(results / BUNDLES):
        yield f"{RESULTS}/{BUNDLES}/{path.name}", path
    for path in _below(sources.grafana):
        own = path.relative_to(sources.grafana)
        if own.parts[0] != "log" and path.name not in _LEFT_OUT:
            with suppress(FileNotFoundError):  # Grafana removes some of its files while it runs.
                yield f"{GRAFANA}/{own.as_posix()}", _grafana(path, still / GRAFANA / own)


def _below(folder: Path) -> Iterator[Path]:
    # A folder that disappears during pathlib's walk ends the walk.
    for path in sorted(Path(root, name) for root, _, names in os.walk(folder) for name in names):
        if path.is_file() and not path.is_symlink():
            yield path


def _still(place: Path, text: bytes) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text)
    return place


def _grafana(path: Path, place: Path) -> Path:
    """Copy a file of Grafana's data while Grafana may be writing to it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if path.name != _DATABASE:
        shutil.copyfile(path, place)
        return place
    try:
        with (
            closing(connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
            closing(connect(place)) as target,
        ):
            source.backup(target)
    except DatabaseError as error:
        raise UserError(f"{path} cannot be read ({error}); check that Grafana runs") from error
    return place
