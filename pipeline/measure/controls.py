"""Controls: builds that every machine measures every night, to detect changes of the machine."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, timedelta
from pathlib import Path

from pydantic import TypeAdapter

from pipeline.config import ConfigFile
from pipeline.files.atomic_write import write_durably
from pipeline.files.json_file import read_json
from pipeline.measure.build_options import build_options
from pipeline.measure.discover import Discovered, find_revision, offer_of
from pipeline.measure.plan import make_cell, workload_at
from pipeline.model import Cell, Control, Frozen, Machine, Revision
from pipeline.text.errors import UserError, did_you_mean

FIRST, LAST = 1, 2
"""Repetitions of a control: at the beginning and at the end of a night, an A/A pair."""

_FILE = "controls.json"
"""The file in the cache with the controls that this machine has measured."""

_KEPT = timedelta(days=2)
"""The age, counted from the present night, beyond which controls.json drops an entry."""


def controls_of(
    file: ConfigFile, found: Discovered, machine: Machine, night: date, quick: bool
) -> list[Cell]:
    """Return the cells of the ``[[control]]`` tables for a machine and a night.

    Raises UserError, with file and line, for an unknown revision.
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


def with_controls(
    controls: Sequence[Cell],
    runs: Sequence[tuple[Cell, int]],
    measured: Collection[tuple[str, int]],
) -> list[tuple[Cell, int]]:
    """Return the runs of a night, with the unmeasured runs of controls before and after."""
    first, last = (
        [(cell, place) for cell in controls if (cell.key, place) not in measured]
        for place in (FIRST, LAST)
    )
    return [*first, *runs, *last]


class ControlRun(Frozen):
    """A run of a control that this machine measured: cell, repetition and night."""

    key: str
    repetition: int
    night: date


_MEASURED = TypeAdapter(list[ControlRun])


def measured_here(cache: Path) -> set[tuple[str, int]]:
    """Return the runs of controls that this machine measured in the last nights.

    Each job of a night has its own results folder, so this file shows jobs on one machine which
    controls are done. An unreadable file counts as empty.
    """
    return {(each.key, each.repetition) for each in _load(cache)}


def remember_measured(cell: Cell, repetition: int, cache: Path) -> None:
    """Record a run of a control. The caller must hold the machine's workspace."""
    if cell.control is None:
        return
    night = cell.control.night
    kept = [each for each in _load(cache) if each.night >= night - _KEPT]
    kept.append(ControlRun(key=cell.key, repetition=repetition, night=night))
    write_durably(cache / _FILE, _MEASURED.dump_json(kept).decode())


def _load(cache: Path) -> list[ControlRun]:
    return read_json(cache / _FILE, _MEASURED.validate_json) or []


def _pinned(file: ConfigFile, index: int, known: Sequence[Revision]) -> Revision:
    section = file.config.control[index]
    if not known:
        raise UserError(
            f"no release of {section.target} has been discovered; run `nightshift discover`"
        )
    revision = find_revision(section.revision, known)
    if revision is None:
        names = [each.version for each in known]
        raise file.problem(
            ("control", index, "revision"),
            f"{section.target} has no revision {section.revision!r}; "
            f"{did_you_mean(section.revision, names)}",
        )
    return revision.model_copy(update={"major": section.major} if section.major else {})
