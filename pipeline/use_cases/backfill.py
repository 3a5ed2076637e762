"""Backfill: measure revisions that earlier nights skipped, the most informative first."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from pipeline.experiments.backfill import Choice, Gaps, planned_choices
from pipeline.experiments.gaps import BackfillRequest, find_gaps
from pipeline.measure.backfill_state import Begun, begin, finish, load_begun
from pipeline.measure.build import NotBuiltError
from pipeline.measure.discover import Discovered, discover
from pipeline.measure.expected_time import Expectation
from pipeline.measure.plan import Plan
from pipeline.measure.progress import Watcher
from pipeline.measure.run import Builds, build_key, save_builds
from pipeline.model import Cell
from pipeline.regressions.detected import Detected
from pipeline.storage.runs import measured
from pipeline.text.errors import UserError
from pipeline.text.units import show_duration
from pipeline.use_cases.detect import detect_stage
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.run import check_tools, measure

_LOG = logging.getLogger(__name__)


class Backfilled(NamedTuple):
    """What a backfill did: measured revisions, failed builds, number of skipped revisions left.

    ``detected`` is the result of the detection afterwards, ``seconds`` the duration of both.
    """

    done: list[Choice]
    failed: list[tuple[Choice, str]]
    left: int
    detected: Detected
    seconds: float


def foresee(
    context: MeasuringContext, asked: BackfillRequest, count: int | None, seconds: float
) -> list[Choice]:
    """Return the revisions that :func:`backfill` would measure, as far as known beforehand."""
    return _backfill(context, asked).foreseen(count, seconds)


@logged("backfill")
def backfill(
    context: MeasuringContext,
    asked: BackfillRequest,
    count: int | None,
    seconds: float,
    watcher: Watcher,
) -> Backfilled:
    """Measure skipped revisions within limits of number and seconds, then detect changes.

    Raises UserError for an unknown line or revision.
    """
    fill = _backfill(context, asked)
    check_tools(context)
    began = time.monotonic()
    fill.run(count, seconds, watcher)
    detected = detect_stage(context, fill.plan())
    return Backfilled(fill.done, fill.failed, fill.left(), detected, time.monotonic() - began)


def _backfill(context: MeasuringContext, asked: BackfillRequest) -> Backfill:
    asked.check(context.file)
    found = discover(context.offers(), context.cache, context.results)
    return Backfill(context, found, asked, context.clock)


@dataclass
class Backfill:
    """Measures revisions that earlier nights skipped, one after another.

    ``done`` are the measured revisions, ``failed`` the failed builds with their reasons.
    """

    context: MeasuringContext
    found: Discovered
    asked: BackfillRequest
    clock: Callable[[], float] = time.monotonic
    done: list[Choice] = field(default_factory=list)
    failed: list[tuple[Choice, str]] = field(default_factory=list)

    def plan(self, choice: Choice | None = None) -> Plan:
        """Return the plan of a night; with a ``choice``, only the part for its revision."""
        if choice is None:
            return self.context.plan(self.found)
        whole = self.context.plan(self.found, {choice.line: {choice.label}})
        return whole.of_revision(choice.line, choice.label)

    def left(self) -> int:
        """Return how many skipped revisions can still be measured."""
        return sum(gaps.left() for gaps in self._gaps())

    def foreseen(self, count: int | None, seconds: float) -> list[Choice]:
        """Return the revisions that can be measured within a time, judged by expected durations."""
        chosen: list[Choice] = []
        spent = 0.0
        # All revisions of a line have the same steps.
        steps: dict[str, float] = {}
        for choice in self._foreseen():
            if choice.line not in steps:
                runs = self.plan(choice).remaining(())
                steps[choice.line] = Expectation(cell for cell, _ in runs).left
            spent += steps[choice.line]
            if len(chosen) == count or (chosen and spent > seconds):
                break
            chosen.append(choice)
        return chosen

    def run(self, count: int | None, seconds: float, watcher: Watcher) -> None:
        """Measure skipped revisions until none is left or a limit is reached.

        A revision is not begun if less time is left than the longest revision so far took. A
        revision whose build fails is recorded in ``results/builds.json`` and skipped. Raises
        UserError for an error that does not depend on the revision.
        """
        began, longest = self.clock(), 0.0
        with self.context.workspace.held():
            self.context.ingest()
            while count is None or len(self.done) < count:
                left = began + seconds - self.clock()
                if left <= longest:
                    break
                choice = next(self._foreseen(), None)
                if choice is None:
                    break
                watcher.note(
                    f"measuring {choice.line} {choice.label} next: {choice.why}; "
                    f"{show_duration(left)} left"
                )
                if self._measure(choice, watcher):
                    longest = max(longest, left - (began + seconds - self.clock()))

    def _foreseen(self) -> Iterator[Choice]:
        """Yield the revisions to measure in order, unfinished ones first."""
        lines = []
        for gaps in self._gaps():
            begun = self._begun(gaps)
            yield from begun
            there = gaps.measured | {choice.place for choice in begun}
            lines.append(replace(gaps, measured=there))
        yield from planned_choices(lines)

    def _gaps(self) -> list[Gaps]:
        context = self.context
        return find_gaps(
            context.file,
            self.asked,
            self.plan(),
            self.found,
            context.store,
            context.results,
            context.builder,
        )

    def _begun(self, gaps: Gaps) -> list[Choice]:
        """Return the unfinished revision of a line, which an earlier backfill began, if any."""
        found = []
        for one in load_begun(self.context.results):
            if one.line == gaps.line and one.revision in gaps.labels:
                place = gaps.labels.index(one.revision)
                choice = Choice(
                    gaps.line, one.revision, place, "its measurement was begun but not finished"
                )
                if tuple(self.plan(choice).keys()) == one.cells:
                    found.append(choice)
        return found

    def _measure(self, choice: Choice, watcher: Watcher) -> bool:
        """Measure all missing runs of a revision; return False if its build failed."""
        context, plan = self.context, self.plan(choice)
        runs = plan.remaining(measured(context.store))
        begun = Begun(line=choice.line, revision=choice.label, cells=tuple(plan.keys()))
        if runs:
            builds = self._build(runs[0][0], choice)
            if builds is None:
                finish(begun, context.results)
                return False
            begin(begun, context.results)
            result = measure(
                context, runs, builds, watcher, lambda _cell, _n, path: self._take(path)
            )
            for why in result.harness_errors.values():
                raise UserError(
                    f"{choice.label} was not measured completely: {why}; correct the cause and run "
                    "`nightshift backfill` again, which continues there"
                )
        finish(begun, context.results)
        self.done.append(choice)
        return True

    def _take(self, path: Path) -> None:
        self.context.ingest([path])

    def _build(self, cell: Cell, choice: Choice) -> Builds | None:
        context, key = self.context, build_key(cell)
        try:
            build = context.builder.obtain(cell.revision, cell.build_options)
        except NotBuiltError as error:
            why = f"the build of {cell.revision.target} {cell.revision.version} failed: {error}"
            _LOG.warning(f"{why}; this revision is skipped")
            save_builds(Builds({}, {key: why}), context.results)
            self.failed.append((choice, why))
            return None
        builds = Builds({key: build}, {})
        save_builds(builds, context.results)
        return builds
