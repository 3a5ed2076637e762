"""Restore a hub from a backup; existing files are never overwritten."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from pipeline.files.checksum import sha256
from pipeline.measure.progress import Watcher
from pipeline.text.errors import UserError, first_line
from pipeline.transfer.backup import Sources
from pipeline.transfer.generation import (
    CONFIG,
    GRAFANA,
    RESULTS,
    BackedUpFile,
    Generation,
    contents,
    read_generation,
)
from pipeline.transfer.places.base import FileEntry, Place, PlaceError, part


def restore(place: Place, name: str, to: Sources, watcher: Watcher) -> Generation:
    """Restore a backup, verifying every file.

    Until all files are verified, they are kept in a folder beside the results, so that an
    interrupted restore can resume. Raises UserError if results exist, and PlaceError for an
    incomplete backup.
    """
    staged = to.results.with_name(f"{to.results.name}.restoring")
    _refuse(to.results)
    if not staged.exists():
        _refuse(to.grafana)
    generation = read_generation(place, name)
    try:
        staged.mkdir(mode=0o700, parents=True, exist_ok=True)  # It contains passwords.
        _fetch(place, generation, staged, watcher)
        (staged / RESULTS).mkdir(parents=True, exist_ok=True)
        if (staged / GRAFANA).exists():
            own = _grafana(to, staged / RESULTS)
            shutil.copytree(staged / GRAFANA, own, dirs_exist_ok=True)
            own.chmod(0o700)  # It contains passwords.
        to.results.parent.mkdir(parents=True, exist_ok=True)
        (staged / RESULTS).rename(to.results)
    except OSError as error:
        raise UserError(
            f"{to.results} cannot be restored ({first_line(error)}); correct this and run the same "
            "command again"
        ) from error
    shutil.rmtree(staged)
    return generation


def restore_config(place: Place, name: str, config: Path) -> None:
    """Restore the configuration from a backup, if none exists."""
    kept = read_generation(place, name).files.get(CONFIG)
    if kept is None or config.exists():
        return
    _bring(place, kept, contents(place), config)


def _refuse(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} exists already; move it away: restore overwrites nothing")


def _grafana(to: Sources, results: Path) -> Path:
    """Return the folder to which Grafana's data is restored."""
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
    with watcher.stage("restore", sum(kept.size for kept in waiting.values())):
        for path, kept in waiting.items():
            _bring(place, kept, there, path)
            watcher.advance(kept.size)


def _checked(place: Place, name: str) -> str:
    """Return a file name in a backup, after checking that it stays inside the target folder."""
    parts = PurePosixPath(name).parts
    if name != "/".join(parts) or parts[0] not in (RESULTS, GRAFANA) or len(parts) == 1:
        raise PlaceError(
            place.name, f"has a backup that contains {name[:80]!r}, which nightshift did not write"
        )
    for each in parts:
        part(place.name, each)
    return name


def _bring(place: Place, kept: BackedUpFile, there: Mapping[str, FileEntry], path: Path) -> None:
    """Write the content of a backed-up file, completely or not at all.

    Raises PlaceError if the content is missing or altered.
    """
    entry = there.get(kept.place)
    if entry is None or entry.size != kept.size:
        raise PlaceError(place.name, f"lacks {kept.place}; choose an older backup with --at")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("wb") as file:
        for data in place.read(kept.place, entry):
            file.write(data)
    if sha256(partial) != kept.sha256:
        raise PlaceError(
            place.name, f"has an altered {kept.place}; choose an older backup with --at"
        )
    partial.rename(path)
