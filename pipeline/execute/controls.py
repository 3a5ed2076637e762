"""Controls: what every machine measures every night, so that it is seen when the machine moves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, timedelta
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from pipeline.config import ConfigFile
from pipeline.durable import write_durably
from pipeline.errors import UserError, meant
from pipeline.execute.discover import Discovered
from pipeline.execute.lines import find_revision, offer_of
from pipeline.execute.options import build_options
from pipeline.execute.plan import make_cell, workload_at
from pipeline.model import Cell, Control, Frozen, Machine, Revision

FIRST, LAST = 1, 2
"""Repetitions of a control: at the beginning of a night and at its end, an A/A pair."""

_FILE = "controls.json"
"""What this machine has measured of controls, in the cache."""

_KEPT = timedelta(days=2)
"""Nights before the present one of which that is remembered."""


def controls_of(
    file: ConfigFile, found: Discovered, machine: Machine, night: date, quick: bool
) -> list[Cell]:
    """Return what a machine measures of the ``[[control]]`` tables in a night.

    Raises UserError, with file and line, for a revision that is not there.
    """
    names = [section.name for section in file.config.workload]
    cells = []
    for index, section in enumerate(file.config.control):
        if section.classes and machine.machine_class not in section.classes:
            continue
        offer = offer_of(file, index, section, "control")
        revision = _pinned(file, index, found.get(offer, ()))
        at = names.index(section.workload)
        cell = make_cell(
            file,
            at,
            workload_at(file, at, quick),
            revision,
            build_options(section, offer.supply),
            machine,
        )
        control = Control(name=section.name, machine=machine.hostname, night=night)
        cells.append(cell.model_copy(update={"control": control}))
    return cells


def around(
    controls: Sequence[Cell],
    runs: Sequence[tuple[Cell, int]],
    measured: Collection[tuple[str, int]],
) -> list[tuple[Cell, int]]:
    """Return the runs of a night with what is left of the controls before and behind them."""
    first, last = (
        [(cell, place) for cell in controls if (cell.key, place) not in measured]
        for place in (FIRST, LAST)
    )
    return [*first, *runs, *last]


class Measured(Frozen):
    """A run of a control on this machine."""

    key: str
    repetition: int
    night: date


_MEASURED = TypeAdapter(list[Measured])


def measured_here(cache: Path) -> set[tuple[str, int]]:
    """Return the controls (cell key, repetition) that this machine measured lately.

    Jobs of one night on one machine know each other's by this: each has a results folder of its
    own. What cannot be read is forgotten.
    """
    return {(each.key, each.repetition) for each in _load(cache)}


def remember_measured(cell: Cell, repetition: int, cache: Path) -> None:
    """Write down a run of a control. The workspace has to be held."""
    if cell.control is None:
        return
    night = cell.control.night
    kept = [each for each in _load(cache) if each.night >= night - _KEPT]
    kept.append(Measured(key=cell.key, repetition=repetition, night=night))
    write_durably(cache / _FILE, _MEASURED.dump_json(kept).decode())


def _load(cache: Path) -> list[Measured]:
    try:
        return _MEASURED.validate_json((cache / _FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return []


def _pinned(file: ConfigFile, index: int, known: Sequence[Revision]) -> Revision:
    section = file.config.control[index]
    if not known:
        raise UserError(f"no release of {section.target} is known; run `nightshift discover`")
    revision = find_revision(section.revision, known)
    if revision is None:
        names = [each.version for each in known]
        raise file.problem(
            ("control", index, "revision"),
            f"{section.target} has no revision {section.revision!r}; "
            f"{meant(section.revision, names)}",
        )
    return revision.model_copy(update={"major": section.major} if section.major else {})
