"""Bisect on this machine: given revisions, one regression, or all regressions of a night."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence

from pipeline.experiments.bisect import Bisected, bisect
from pipeline.experiments.bisect_counts import bisect_counts
from pipeline.experiments.culprit_search import (
    Search,
    answer,
    culprit_of,
    known_ends,
    search_for,
)
from pipeline.experiments.experiment import Figure, Figures, Runner
from pipeline.experiments.interleaved import WRONG
from pipeline.experiments.record import load_experiment
from pipeline.experiments.recorded import (
    SEARCH,
    MissingRunError,
    ObservedRunner,
    RecordedRunner,
    read_conditions,
)
from pipeline.files.atomic_write import write_atomically
from pipeline.files.json_file import read_json
from pipeline.measure.discover import discover
from pipeline.measure.plan import Plan
from pipeline.measure.progress import Watcher
from pipeline.model import Cell, Culprit, Mode, Regression, digest
from pipeline.regressions.grouping import machine_of
from pipeline.regressions.repository import OUTCOME
from pipeline.sources import subject_of
from pipeline.storage.bundle import EXPERIMENTS
from pipeline.storage.journal import Event, EventKind, now
from pipeline.text.errors import UserError
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)


NEIGHBOURS = 2
"""Number of revisions in a range without any revision between its two ends."""

NOT_SEEN = "no change for the worse"
"""The result of bisecting a regression that found only improvements."""


def bisected(
    context: MeasuringContext,
    cells: Sequence[Cell],
    figures: Sequence[Figure],
    smallest: float,
    seconds: float,
    watcher: Watcher,
    known: tuple[Figures, Figures] | None = None,
) -> Bisected:
    """Bisect some revisions on this machine, and save the result.

    ``known`` are the instruction counts of both ends, if nights have measured them.

    Raises UserError for an end that cannot be measured.
    """
    name = search_name(cells, figures)
    folder = context.results / EXPERIMENTS / name
    mode = cells[0].workload.mode
    with context.experimenting(folder, "bisect", seconds, watcher, mode) as bench:
        runner = ObservedRunner(bench, cells)
        found = _searched(
            Search(tuple(cells), tuple(figures)),
            runner,
            watcher.note,
            smallest,
            seconds,
            context.clock,
            known,
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / OUTCOME, found.model_dump_json(indent=1))
    write_atomically(folder / SEARCH, runner.conditions.model_dump_json(indent=1))
    decided = {"verdict": found.outcome, "builds": found.builds, "runs": found.runs}
    _LOG.info("experiment decided", extra={"experiment": name, **decided})
    return found


def _searched(
    search: Search,
    runner: Runner,
    say: Callable[[str], None],
    smallest: float,
    seconds: float,
    clock: Callable[[], float],
    known: tuple[Figures, Figures] | None,
) -> Bisected:
    """Bisect by instruction counts or by times, as the mode of the cells says."""
    cells, figures = search
    if cells[0].workload.mode is Mode.COUNT:
        return bisect_counts(
            cells,
            figures,
            runner,
            say,
            smallest=smallest,
            seconds=seconds,
            clock=clock,
            known=known,
        )
    return bisect(cells, figures, runner, say, smallest=smallest, seconds=seconds, clock=clock)


def judge_search(context: MeasuringContext, regression: Regression, search: Search) -> None:
    """Evaluate a bisection from another machine's bundles, and record the culprit.

    The search is repeated with the recorded measurements. It ends at the first run without a
    bundle.
    """
    name = search_name(search.cells, search.figures)
    folder = context.results / EXPERIMENTS / name
    conditions = read_conditions(folder)
    if conditions is None:
        return
    smallest = context.config.confirm.smallest(search.cells[0].workload.mode)
    known = known_ends(regression, search)
    limit = math.inf
    while limit >= 1:
        runner = RecordedRunner(folder, conditions, limit)
        try:
            found = _searched(search, runner, _LOG.debug, smallest, 1.0, runner.clock, known)
        except MissingRunError:
            limit = min(float(runner.runs), limit - 1)
            continue
        if found != read_json(folder / OUTCOME, Bisected.model_validate_json):
            write_atomically(folder / OUTCOME, found.model_dump_json(indent=1))
            _record(context, regression, search, found, runner.minutes)
        return


def locate(
    context: MeasuringContext, plan: Plan, regression: Regression, seconds: float, watcher: Watcher
) -> Bisected:
    """Bisect a regression and record the culprit in the journal.

    Raises UserError for a regression that cannot be bisected.
    """
    return _locate(context, regression, search_of(context, plan, regression), seconds, watcher)


def search_of(
    context: MeasuringContext, plan: Plan, regression: Regression, mode: Mode | None = None
) -> Search:
    """Return the bisection that a regression needs.

    With a ``mode``, only changes of that mode count. Raises UserError for a regression that cannot
    be bisected.
    """
    known = discover(context.offers(), context.cache, None)
    machine = context.class_machine(machine_of(regression))
    return search_for(
        regression, plan, context.file, known, machine, context.quick, context.cache, mode
    )


def _locate(
    context: MeasuringContext,
    regression: Regression,
    search: Search,
    seconds: float,
    watcher: Watcher,
) -> Bisected:
    began = context.clock()
    smallest = context.config.confirm.smallest(search.cells[0].workload.mode)
    known = known_ends(regression, search)
    found = bisected(context, search.cells, search.figures, smallest, seconds, watcher, known)
    name = search_name(search.cells, search.figures)
    minutes = _spent(context, name) + (context.clock() - began) / 60.0
    _record(context, regression, search, found, minutes)
    return found


def _record(
    context: MeasuringContext,
    regression: Regression,
    search: Search,
    found: Bisected,
    minutes: float,
) -> None:
    """Record the result of a bisection in the journal."""
    named, culprit = answer(found), None
    if named is not None:
        revisions = {cell.revision.label: cell.revision for cell in search.cells}
        culprit = culprit_of(named, subject_of(revisions[named.culprit], context.cache))
    event = Event(
        at=now(),
        event=EventKind.BISECTED,
        fingerprint=regression.fingerprint,
        note=NOT_SEEN if found.found and named is None else found.outcome,
        experiment=search_name(search.cells, search.figures),
        minutes=minutes,
        culprit=culprit,
    )
    context.regressions.record([event], event.at)


def _spent(context: MeasuringContext, experiment: str) -> float:
    """Return the minutes that the earlier parts of a bisection took, according to the journal."""
    reported = (
        event for event in context.regressions.events(now()) if event.experiment == experiment
    )
    return max((event.minutes for event in reported), default=0.0)


def note_neighbours(context: MeasuringContext, regression: Regression, search: Search) -> bool:
    """Record the culprit of a regression between neighbouring revisions; return True if done."""
    if len(search.cells) != NEIGHBOURS or not _compared(context, regression, search):
        return False
    _note_neighbours(context, regression, search)
    return True


def _note_neighbours(context: MeasuringContext, regression: Regression, search: Search) -> None:
    """Record the bad end as the culprit: the two ends are neighbours, and were compared."""
    parent, bad = (cell.revision for cell in search.cells)
    culprit = Culprit(
        revision=bad.label,
        parent=parent.label,
        probability=1.0 - WRONG,
        confirmed=True,
        subject=subject_of(bad, context.cache),
    )
    event = Event(
        at=now(),
        event=EventKind.BISECTED,
        fingerprint=regression.fingerprint,
        note="no revision lies between",
        culprit=culprit,
    )
    context.regressions.record([event], event.at)


def locate_all(
    context: MeasuringContext, plan: Plan, regressions: Sequence[Regression], watcher: Watcher
) -> None:
    """Bisect regressions one after another until the time for it in this night is used up.

    An error of one regression is logged and does not stop the others.
    """
    ends = context.clock() + context.config.bisect.night
    for regression in regressions:
        try:
            search = search_of(context, plan, regression)
            left = ends - context.clock()
            neighbours = len(search.cells) == NEIGHBOURS
            if note_neighbours(context, regression, search):
                continue
            if left > 0 and (neighbours or _is_informative(search, plan, regression)):
                _locate(context, regression, search, left, watcher)
        except UserError as error:
            _LOG.warning(f"regression {regression.fingerprint} is not bisected: {error}")


def _compared(context: MeasuringContext, regression: Regression, search: Search) -> bool:
    """Return whether the confirmation compared exactly the two ends of a bisection."""
    ends = tuple(cell.revision.label for cell in search.cells)
    confirming = (
        load_experiment(context.results / EXPERIMENTS / event.experiment)
        for event in context.regressions.events(now())
        if event.event is EventKind.CONFIRMED and event.fingerprint == regression.fingerprint
    )
    return any(
        asked is not None and (asked.base.revision.label, asked.head.revision.label) == ends
        for asked in confirming
    )


def _is_informative(search: Search, plan: Plan, regression: Regression) -> bool:
    """Return whether a bisection can show more than the nights did.

    A bisection of commits always can; a bisection of releases can if nights have skipped some of
    them.
    """
    supply = search.cells[0].revision.supply
    commits = supply is not None and supply.commits
    return commits or _skipped(search, plan, regression)


def _skipped(search: Search, plan: Plan, regression: Regression) -> bool:
    """Return whether some revision of a bisection is not on the regression's line."""
    (line,) = (line for line in plan.lines if line.name == regression.line)
    known = {revision.label for revision in line.revisions}
    return any(cell.revision.label not in known for cell in search.cells)


def search_name(cells: Sequence[Cell], figures: Sequence[Figure]) -> str:
    """Return the name of a bisection's folder, the same for the same question."""
    asked = digest([cells[0].key, cells[-1].key, list(figures)])
    return f"bisect-{cells[0].revision.target}-{asked[:12]}"
