"""Bisect a regression, or the revisions between two given ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.experiments.bisect import Bisected
from pipeline.experiments.compare import figures_in
from pipeline.experiments.confirm import not_measurable
from pipeline.experiments.experiment import Figure
from pipeline.experiments.revision_range import (
    RevisionSource,
    ladder_of,
    revisions_between,
    workload_for,
)
from pipeline.measure.discover import discover
from pipeline.measure.plan import make_cell
from pipeline.measure.progress import Watcher
from pipeline.model import Mode, Revision
from pipeline.regressions.reconcile import regression_named
from pipeline.storage.journal import now
from pipeline.text.errors import UserError
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.locate import bisected, locate
from pipeline.use_cases.measuring import MeasuringContext


class RangeRequest(NamedTuple):
    """What to bisect: two revisions of a line, and which metrics changed by how much.

    ``smallest`` is the smallest change of interest, relative; None means the configured one.
    Without metrics those of the configuration are compared, without steps all steps of the
    workload.
    """

    line: str
    good: str
    bad: str
    target: str = ""
    steps: Sequence[str] = ()
    metrics: Sequence[str] = ()
    workload: str = ""
    smallest: float | None = None
    mode: Mode | None = None


@logged("bisect")
def bisect_regression(
    context: MeasuringContext, fingerprint: str, seconds: float, watcher: Watcher
) -> Bisected:
    """Bisect the regression whose fingerprint begins with ``fingerprint``.

    Raises UserError if none or several match, or if the regression cannot be bisected.
    """
    plan = context.plan()
    detected = context.regressions.detection_of(plan, now())
    regression = regression_named(fingerprint, detected.regressions)
    if plan.imports(regression.line):
        raise UserError(not_measurable(regression))
    return locate(context, plan, regression, seconds, watcher)


@logged("bisect")
def bisect_range(
    context: MeasuringContext, asked: RangeRequest, seconds: float, watcher: Watcher
) -> Bisected:
    """Bisect the revisions of a line between two given ones.

    Raises UserError for an unknown line, revision, step or metric.
    """
    ladder = ladder_of(context.file, asked.target, asked.line)
    index, load = workload_for(
        context.file, ladder, asked.workload, asked.steps, context.quick, asked.mode
    )
    metrics = figures_in(load.mode, asked.metrics, context.config.detect.metrics)
    cells = [
        make_cell(context.file, index, load, revision, ladder.options, context.machine)
        for revision in _revisions(context, ladder, asked.good, asked.bad)
    ]
    figures = [Figure(each.name, name) for each in load.steps for name in metrics]
    smallest = asked.smallest
    if smallest is None:
        smallest = context.config.detect.smallest(load.mode)
    return bisected(context, cells, figures, smallest, seconds, watcher)


def _revisions(
    context: MeasuringContext, ladder: RevisionSource, good: str, bad: str
) -> tuple[Revision, ...]:
    known = discover([ladder.offer], context.cache, None)[ladder.offer]
    try:
        return revisions_between(context.file, ladder, known, good, bad)
    except UserError:
        # A commit may be newer than the discovered list.
        known = discover([ladder.offer], context.cache, None, refresh=True)[ladder.offer]
        return revisions_between(context.file, ladder, known, good, bad)
