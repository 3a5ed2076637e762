"""Back up everything that cannot be derived from other files, and restore it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pipeline.config import Config, load_config
from pipeline.measure.progress import Watcher
from pipeline.storage.journal import now
from pipeline.text.errors import UserError
from pipeline.transfer.backup import Done, backup
from pipeline.transfer.generation import generations
from pipeline.transfer.restore import restore, restore_config
from pipeline.use_cases.context import Context
from pipeline.use_cases.places import hub_sources, place_of


class BackedUp(NamedTuple):
    """A finished backup: its result, and where it is."""

    place: str
    done: Done


def back_up(context: Context, place: str, watcher: Watcher) -> BackedUp:
    """Make a backup at a place, by default the one in ``nightshift.toml``.

    Raises UserError if there is no place, or if it cannot be written.
    """
    address = place or context.config.backup.to
    if not address:
        raise UserError(
            f"{context.file.path} does not say where backups are stored; give a place as "
            "argument, or set backup.to"
        )
    with place_of(context.config, address) as there:
        done = backup(
            there,
            hub_sources(context.config, context.file.path),
            context.config.backup.keep,
            now(),
            watcher,
        )
    return BackedUp(address, done)


class Restored(NamedTuple):
    """A restored backup: its name, how many files, and the results folder."""

    name: str
    files: int
    results: Path


def restore_backup(place: str, at: str, config: Path, watcher: Watcher) -> Restored:
    """Restore the newest of the backups at a place whose names begin with ``at``.

    An existing configuration file is kept. Raises UserError if there is no such backup, or if a
    folder to restore to is not empty.
    """
    settings = load_config(config).config if config.exists() else Config()
    with place_of(settings, place) as there:
        names = generations(there)
        name = next((each for each in reversed(names) if each.startswith(at)), None)
        if name is None:
            known = f"; the available backups are {names[0]} to {names[-1]}" if names and at else ""
            raise UserError(f"{place} has no backup{' of ' + at if at else ''}{known}")
        restore_config(there, name, config)
        sources = hub_sources(load_config(config).config, config)
        generation = restore(there, name, sources, watcher)
    return Restored(name, len(generation.files), sources.results)
