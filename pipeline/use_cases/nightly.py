"""A whole night: all stages in order, from discover to publish."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import NamedTuple, Protocol

from pipeline.measure.discover import discover
from pipeline.measure.plan import Line, Plan
from pipeline.measure.progress import Watcher
from pipeline.model import Cell
from pipeline.notify import find_sinks
from pipeline.regressions.detected import Detected
from pipeline.site.night import NightReport
from pipeline.text.errors import UserError
from pipeline.use_cases.detect import detect_stage
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.night_record import recorded
from pipeline.use_cases.notify import Notified, notify
from pipeline.use_cases.publish import PublishResult, publish_stage
from pipeline.use_cases.pursue import pursue
from pipeline.use_cases.report import write_report
from pipeline.use_cases.reservation import reserved
from pipeline.use_cases.run import check_tools, run_stage
from pipeline.use_cases.site import make_site

_LOG = logging.getLogger(__name__)


class NightObserver(Protocol):
    """Receives results during a night. This base class ignores them."""

    def first_look(self, line: Line) -> None:
        """Called when every revision of a line has been measured at least once."""
        ...

    def concluded(self, plan: Plan, detected: Detected) -> None:
        """Called after the detection and confirmation of a night."""
        ...


class NightResult(NamedTuple):
    """What a night did: measured runs, regressions, report, site, notifications.

    ``figures`` is the number of measurements of its runs. ``harness_errors`` has the reasons of
    runs that were not measured, by the names of the runs. ``site`` is None if the site was not
    written, ``published`` is None if nothing was sent.
    """

    runs: int
    figures: int
    harness_errors: dict[str, str]
    detected: Detected
    report: Path
    notified: Notified
    site: Path | None
    published: PublishResult | None
    seconds: float

    @property
    def fruitless(self) -> bool:
        """Whether the night had runs to measure and got no result at all."""
        return bool(self.runs or self.harness_errors) and not self.figures


@logged("nightly")
def run_night(context: MeasuringContext, watcher: Watcher, observer: NightObserver) -> NightResult:
    """Run all stages of a night in order, and record the night.

    Raises UserError for an error that ends a night. Errors of the site and of publishing are only
    warnings.
    """
    began = time.monotonic()
    with recorded(context) as night, reserved(context):
        check_tools(context)
        # Report a missing token now, and not after measuring.
        sinks = find_sinks(context.config)
        with night.stage("discover"):
            found = discover(context.offers(), context.cache, context.results)
        with night.stage("plan"):
            plan = night.plan = context.plan(found)
        first_looks = _FirstLooks(plan, observer)
        taken = _Taken(context)

        def on_bundle(cell: Cell, repetition: int, path: Path) -> None:
            night.measured(cell, repetition)
            with night.stage("ingest"):
                there = taken.take(path)
            if there:
                first_looks.measured(cell, repetition)

        timed = night.timed(watcher)
        with night.stage("run"):
            runs, night.harness_errors = run_stage(context, plan, timed, on_bundle)
        taken.take_rest()
        with night.stage("detect"):
            detected = detect_stage(context, plan, night.timed_runs)
            night.series = detected.series
        with night.stage("confirm"):
            detected = pursue(context, plan, detected, timed, fresh=runs > 0)
        observer.concluded(plan, detected)
        with night.stage("report"):
            report = write_report(context, plan)
        with night.stage("notify"):
            notified = notify(context, plan, sinks)
        # Written again, now with links to the report and the issues.
        with night.stage("site"):
            site = _site(context, plan, report.night)
    # After the night was recorded, because its record is published too.
    published = publish_stage(context, plan, watcher)
    return NightResult(
        runs,
        taken.figures,
        night.harness_errors,
        detected,
        report.page,
        notified,
        site,
        published,
        time.monotonic() - began,
    )


def _site(context: MeasuringContext, plan: Plan, night: NightReport) -> Path | None:
    """Write the site; a failure is only a warning."""
    try:
        return make_site(context, plan, night=night)
    except UserError as error:
        _LOG.warning(str(error))
        return None


class _Taken:
    """Adds the bundles of a night to the store while it measures.

    A store that fails does not stop the measuring: :meth:`take_rest` adds the bundles later.
    """

    def __init__(self, context: MeasuringContext) -> None:
        self._context = context
        self._waiting: list[Path] = []
        self.figures = 0

    def take(self, path: Path) -> bool:
        """Add a bundle to the store; return whether that worked."""
        try:
            self.figures += self._context.ingest([path]).measurements
        except UserError as error:
            _LOG.warning(
                f"{error}; the night continues, and adds the bundle {path.name} to the store at "
                "its end"
            )
            self._waiting.append(path)
            return False
        return True

    def take_rest(self) -> None:
        """Add the bundles that failed before. Raises UserError if one fails again."""
        if self._waiting:
            self.figures += self._context.ingest(self._waiting).measurements


class _FirstLooks:
    """Reports each line to the observer as soon as all its revisions have been measured once.

    Revisions that a line keeps from earlier nights need no new run. A line with one revision is not
    reported, because there is nothing to compare.
    """

    def __init__(self, plan: Plan, observer: NightObserver) -> None:
        self._plan, self._observer = plan, observer
        self._shown: set[str] = set()
        self._seen: set[str] = set()

    def measured(self, cell: Cell, repetition: int) -> None:
        """Count a run; report the lines that it completes."""
        if cell.control is not None:
            return
        self._seen.add(cell.revision.label)
        if repetition != 1:
            return
        for line in self._plan.lines:
            labels = {revision.label for revision in line.revisions}
            due = labels - line.kept
            if line.name not in self._shown and len(labels) > 1 and due <= self._seen:
                self._shown.add(line.name)
                self._observer.first_look(line)
