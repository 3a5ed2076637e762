"""Find what the hub asked of a bench, so that the hub accepts nothing else from it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.experiments.bisect import MOST_RUNS
from pipeline.experiments.confirm import experiment_of, suspected
from pipeline.experiments.culprit_search import Search, to_locate
from pipeline.experiments.interleaved import FAILURES
from pipeline.experiments.record import Experiment
from pipeline.experiments.recovery import experiment_for
from pipeline.measure.controls import LAST, controls_of
from pipeline.measure.discover import discovered
from pipeline.measure.plan import Plan, make_plan
from pipeline.model import MOST, Cell, Control, Mode, Regression
from pipeline.regressions.grouping import machine_of
from pipeline.regressions.recovery import fix_of
from pipeline.storage.journal import now
from pipeline.storage.runs import measured, measured_cells
from pipeline.text.errors import UserError
from pipeline.transfer.assignment import Assignment, Cells, cells_by_run
from pipeline.transfer.batches import Batch, Batches
from pipeline.transfer.places import is_remote
from pipeline.use_cases.locate import search_name, search_of
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.recover import standing

_LOG = logging.getLogger(__name__)


@dataclass
class Pursued:
    """The experiments about regressions that a bench may measure.

    An entry of ``recoveries`` consists of a regression, the improvement that seems to end it, and
    the experiment.
    """

    confirmations: list[tuple[Regression, Experiment]] = field(default_factory=list)
    recoveries: list[tuple[Regression, Regression, Experiment]] = field(default_factory=list)
    searches: list[tuple[Regression, Search]] = field(default_factory=list)

    def cells(self) -> dict[str, Cells]:
        """Return the cells of all these experiments, by the experiments' names."""
        found: dict[str, Cells] = {}
        both = [each for _, each in self.confirmations] + [each for *_, each in self.recoveries]
        for experiment in both:
            pair = experiment.pair
            blocks = FAILURES if pair.mode is Mode.COUNT else experiment.question.blocks
            sides = (pair.base, pair.head, pair.control)
            found[experiment.name] = cells_by_run((cell, blocks) for cell in sides)
        for _, search in self.searches:
            name = search_name(search.cells, search.figures)
            found[name] = cells_by_run((cell, MOST_RUNS) for cell in search.cells)
        return found


@dataclass(frozen=True)
class BenchRequest:
    """What the hub asked of a bench: cells and experiments."""

    batch: str
    place: str
    assignment: Assignment
    pursued: Pursued


def request_of(context: MeasuringContext, batch: str, place: str) -> BenchRequest:
    """Return what the hub asked of the bench that sends some results.

    Raises UserError for a batch that was never handed out, for a place that belongs to no machine
    class, and for a class that the configuration does not declare.
    """
    asked = Batches(context.results).find(batch) if batch else None
    machine_class = asked.machine_class if asked is not None else _class_of(context, place)
    context.class_machine(machine_class)
    plan = context.plan()
    own = plan.of_class(machine_class)
    pursued = _pursued(context, plan, machine_class, asked)
    assignment = Assignment(
        machine_class=machine_class,
        since=asked.at if asked is not None else None,
        until=now(),
        cells=cells_by_run(_asked_cells(context, own, machine_class, asked)),
        experiments=pursued.cells(),
        controls=lambda control: cells_by_run(
            (cell, LAST) for cell in _controls(context, machine_class, control)
        ),
        control_labels=frozenset(
            f"{cell.revision.target}-{cell.revision.label}"
            for cell in _controls(context, machine_class, None)
        ),
    )
    return BenchRequest(batch, place, assignment, pursued)


def _class_of(context: MeasuringContext, place: str) -> str:
    """Return the machine class whose results a place holds, for results without a batch."""
    classes = context.config.machine_class
    if not classes:
        return context.machine_class
    for section in classes:
        if any(_lies_in(place, each) for each in section.places):
            return section.name
    raise UserError(
        f"the results in {place} name no batch of the hub, so their machine class is unknown; pack "
        "them with the id that the hub gave (`nightshift pack --batch ID`), or list the place in "
        f"`from` of the [[class]] of the bench in {context.file.path}"
    )


def _lies_in(place: str, declared: str) -> bool:
    if not is_remote(place) and not is_remote(declared):
        return Path(place).resolve().is_relative_to(Path(declared).resolve())
    return f"{place.rstrip('/')}/".startswith(f"{declared.rstrip('/')}/")


def _asked_cells(
    context: MeasuringContext, plan: Plan, machine_class: str, batch: Batch | None
) -> list[tuple[Cell, int]]:
    """Return the cells that a bench should measure, with the maximum number of runs of each."""
    if batch is not None:
        keys = batch.cells
        return [
            (cell, plan.most_runs_of(cell))
            for cell in plan.cells
            if keys and cell.key.startswith(keys)
        ]
    # People at the bench may measure a cell again, or with a profile.
    profiled = make_plan(
        context.file,
        discovered(context.results),
        context.machines,
        context.quick,
        profile=True,
        measured=measured_cells(context.store),
    ).of_class(machine_class)
    return [(cell, MOST) for cell in (*plan.cells, *profiled.cells)]


def _controls(context: MeasuringContext, machine_class: str, control: Control | None) -> list[Cell]:
    """Return the cells of the controls that a machine class measures."""
    if not context.config.control:
        return []
    machine = context.class_machine(machine_class)
    if control is not None:
        machine = machine.model_copy(update={"hostname": control.machine})
    night = control.night if control is not None else now().date()
    return controls_of(context.file, discovered(context.results), machine, night, context.quick)


def _pursued(
    context: MeasuringContext, plan: Plan, machine_class: str, batch: Batch | None
) -> Pursued:
    """Return the experiments that a bench may run for the present regressions."""
    found = Pursued()
    detected = context.regressions.detection(now())
    if detected is None or (batch is not None and not batch.regressions):
        return found
    settings = context.config.confirm
    there = {key for key, _ in measured(context.store)}
    doubts = suspected(detected.regressions)
    for one in detected.regressions:
        if machine_of(one) != machine_class or (
            batch is not None and one.fingerprint not in batch.regressions
        ):
            continue
        fix = fix_of(one, detected.regressions)
        try:
            if one in doubts:
                found.confirmations.append((one, experiment_of(one, plan, settings)))
            if fix is not None and standing(one):
                found.recoveries.append((one, fix, experiment_for(one, plan, settings, there)))
            if to_locate(one):
                found.searches.append((one, search_of(context, plan, one)))
        except UserError as error:
            _LOG.info(f"no bench is asked to measure regression {one.fingerprint}: {error}")
    return found
