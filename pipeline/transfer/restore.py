"""Restoring a hub from its backup, into nothing: what is there already is never written over."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from pipeline.errors import UserError, first_line
from pipeline.execute.watch import Watcher
from pipeline.transfer.backup import Sources
from pipeline.transfer.folder import sha256
from pipeline.transfer.generation import (
    CONFIG,
    GRAFANA,
    RESULTS,
    Generation,
    Kept,
    contents,
    read_generation,
)
from pipeline.transfer.places.base import Entry, Place, PlaceError, part


def restore(place: Place, name: str, to: Sources, watcher: Watcher) -> Generation:
    """Bring back a generation, every file by its checksum; the results last, and whole.

    What was fetched is kept beside the results until then, so that a restore that broke off goes
    on. Raises UserError for results that are there, and PlaceError for a backup that is not whole.
    """
    staged = to.results.with_name(f"{to.results.name}.restoring")
    _refuse(to.results)
    if not staged.exists():
        _refuse(to.grafana)
    generation = read_generation(place, name)
    try:
        staged.mkdir(mode=0o700, parents=True, exist_ok=True)  # There are passwords in it.
        _fetch(place, generation, staged, watcher)
        (staged / RESULTS).mkdir(parents=True, exist_ok=True)
        if (staged / GRAFANA).exists():
            own = _grafana(to, staged / RESULTS)
            shutil.copytree(staged / GRAFANA, own, dirs_exist_ok=True)
            own.chmod(0o700)  # There are passwords in it.
        to.results.parent.mkdir(parents=True, exist_ok=True)
        (staged / RESULTS).rename(to.results)
    except OSError as error:
        raise UserError(f"{to.results} cannot be restored: {first_line(error)}") from error
    shutil.rmtree(staged)
    return generation


def restore_config(place: Place, name: str, config: Path) -> None:
    """Bring back the configuration of a generation, where there is none. Raises as restore."""
    kept = read_generation(place, name).files.get(CONFIG)
    if kept is None or config.exists():
        return
    partial = config.with_name(f"{config.name}.partial")
    _bring(place, kept, contents(place), partial)
    partial.rename(config)


def _refuse(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is there already; move it away, nothing is restored over it")


def _grafana(to: Sources, results: Path) -> Path:
    """Return where Grafana's own folder is put: mostly in the results, which move as a whole."""
    grafana, final = to.grafana.absolute(), to.results.absolute()
    return results / grafana.relative_to(final) if grafana.is_relative_to(final) else grafana


def _fetch(place: Place, generation: Generation, staged: Path, watcher: Watcher) -> None:
    there = contents(place)
    waiting = {}
    for name, kept in generation.files.items():
        if name == CONFIG:
            continue
        path = staged / _checked(place, name)
        if not path.exists() or sha256(path) != kept.sha256:
            waiting[path] = kept
    watcher.begin("restore", sum(kept.size for kept in waiting.values()))
    try:
        for path, kept in waiting.items():
            partial = path.with_name(f"{path.name}.partial")
            _bring(place, kept, there, partial)
            partial.rename(path)
            watcher.advance(kept.size)
    finally:
        watcher.end()


def _checked(place: Place, name: str) -> str:
    """Return the name of a file, once it leads nowhere else. Raises PlaceError."""
    parts = PurePosixPath(name).parts
    if name != "/".join(parts) or parts[0] not in (RESULTS, GRAFANA) or len(parts) == 1:
        raise PlaceError(
            place.name, f"has a generation with {name[:80]!r}, which is no file of ours"
        )
    for each in parts:
        part(place.name, each)
    return name


def _bring(place: Place, kept: Kept, there: Mapping[str, Entry], path: Path) -> None:
    """Write a content to a file. Raises PlaceError for one that is missing or altered."""
    entry = there.get(kept.place)
    if entry is None or entry.size != kept.size:
        raise PlaceError(place.name, f"lacks {kept.place}; take an older generation (--at)")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for data in place.read(kept.place, entry):
            file.write(data)
    if sha256(path) != kept.sha256:
        raise PlaceError(place.name, f"has an altered {kept.place}; take an older one (--at)")
