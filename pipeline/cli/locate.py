"""Bisecting on this machine: a stretch, a regression, and all regressions of a night."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.analyse.bisect import Bisected, bisect
from pipeline.analyse.confirm import OUTCOME
from pipeline.analyse.experiment import Figure
from pipeline.analyse.interleaved import WRONG
from pipeline.analyse.locate import Search, answer, culprit_of, search_for
from pipeline.analyse.record import load_experiment
from pipeline.bundle import EXPERIMENTS
from pipeline.cli.console import warn
from pipeline.cli.measuring import MeasuringContext
from pipeline.durable import write_whole
from pipeline.errors import UserError
from pipeline.execute.discover import discover
from pipeline.execute.plan import Plan
from pipeline.execute.watch import Watcher
from pipeline.journal import Event, EventKind, Journal, now
from pipeline.model import Cell, Culprit, Regression, digest
from pipeline.sources import subject_of

NEIGHBOURS = 2
"""Revisions of a stretch that has nothing between its ends."""

NOT_SEEN = "no change for the worse"
"""What a bisection says of a regression that only found what became better."""


def bisected(
    context: MeasuringContext,
    cells: Sequence[Cell],
    figures: Sequence[Figure],
    smallest: float,
    seconds: float,
    watcher: Watcher,
) -> Bisected:
    """Bisect a stretch on this machine, and keep what came of it in the experiment's folder.

    Raises UserError for an end that cannot be measured.
    """
    folder = context.results / EXPERIMENTS / _experiment(cells, figures)
    runner = context.runner(folder, watcher)
    watcher.begin("bisect", seconds)
    try:
        with runner:
            found = bisect(
                cells,
                figures,
                runner,
                watcher.note,
                smallest=smallest,
                seconds=seconds,
                clock=context.clock,
            )
    finally:
        watcher.end()
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / OUTCOME, found.model_dump_json(indent=1))
    return found


def locate(
    context: MeasuringContext, plan: Plan, regression: Regression, seconds: float, watcher: Watcher
) -> Bisected:
    """Search the culprit of a regression, and write what came of it into the journal.

    Raises UserError for a regression that cannot be bisected.
    """
    return _locate(context, regression, _search(context, plan, regression), seconds, watcher)


def _search(context: MeasuringContext, plan: Plan, regression: Regression) -> Search:
    known = discover(context.offers(), context.cache, None)
    return search_for(
        regression, plan, context.file, known, context.machine, context.quick, context.cache
    )


def _locate(
    context: MeasuringContext,
    regression: Regression,
    search: Search,
    seconds: float,
    watcher: Watcher,
) -> Bisected:
    began = context.clock()
    smallest = context.config.confirm.smallest_effect
    found = bisected(context, search.cells, search.figures, smallest, seconds, watcher)
    name = _experiment(search.cells, search.figures)
    named, culprit = answer(found), None
    if named is not None:
        revisions = {cell.revision.label: cell.revision for cell in search.cells}
        culprit = culprit_of(named, subject_of(revisions[named.culprit], context.cache))
    event = Event(
        at=now(),
        event=EventKind.BISECTED,
        fingerprint=regression.fingerprint,
        note=NOT_SEEN if found.found and named is None else found.outcome,
        experiment=name,
        minutes=_spent(context, name) + (context.clock() - began) / 60.0,
        culprit=culprit,
    )
    Journal(context.results).append([event])
    return found


def _spent(context: MeasuringContext, experiment: str) -> float:
    """Return the minutes that an experiment took before; a search that goes on counts them in."""
    told = (event for event in Journal(context.results).read() if event.experiment == experiment)
    return max((event.minutes for event in told), default=0.0)


def _note_neighbours(context: MeasuringContext, regression: Regression, search: Search) -> None:
    """Name the culprit where nothing lies between: that they differ was shown by confirming."""
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
        note="nothing lies between",
        culprit=culprit,
    )
    Journal(context.results).append([event])


def locate_all(
    context: MeasuringContext, plan: Plan, regressions: Sequence[Regression], watcher: Watcher
) -> None:
    """Search the culprits of regressions in their order, until the budget of the night is spent.

    One that cannot be bisected is told and does not hold up the others.
    """
    ends = context.clock() + context.config.bisect.night
    for regression in regressions:
        try:
            search = _search(context, plan, regression)
            left = ends - context.clock()
            neighbours = len(search.cells) == NEIGHBOURS
            if neighbours and _compared(context, regression, search):
                _note_neighbours(context, regression, search)
            elif left > 0 and (neighbours or _tells_more(search, plan, regression)):
                _locate(context, regression, search, left, watcher)
        except UserError as error:
            warn(f"{regression.fingerprint} is not bisected: {error}")


def _compared(context: MeasuringContext, regression: Regression, search: Search) -> bool:
    """Say whether what confirmed a regression measured the ends of a search, and not wider ones."""
    ends = tuple(cell.revision.label for cell in search.cells)
    confirming = (
        load_experiment(context.results / EXPERIMENTS / event.experiment)
        for event in Journal(context.results).read()
        if event.event is EventKind.CONFIRMED and event.fingerprint == regression.fingerprint
    )
    return any(
        asked is not None and (asked.base.revision.label, asked.head.revision.label) == ends
        for asked in confirming
    )


def _tells_more(search: Search, plan: Plan, regression: Regression) -> bool:
    """Say whether a bisection is worth its time unasked: of commits, and where some were skipped.

    Of releases that were all measured it would tell what the next nights tell, too.
    """
    supply = search.cells[0].revision.supply
    commits = supply is not None and supply.commits
    return commits or _skipped(search, plan, regression)


def _skipped(search: Search, plan: Plan, regression: Regression) -> bool:
    """Say whether some of what is bisected was not measured on the line of a regression."""
    (line,) = (line for line in plan.lines if line.name == regression.line)
    known = {revision.label for revision in line.revisions}
    return any(cell.revision.label not in known for cell in search.cells)


def _experiment(cells: Sequence[Cell], figures: Sequence[Figure]) -> str:
    """Return the name of the experiment: the same for the same question."""
    asked = digest([cells[0].key, cells[-1].key, list(figures)])
    return f"bisect-{cells[0].revision.target}-{asked[:12]}"
