"""The detect stage: search all series for changes, and match them with known regressions."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection

from pipeline.environment.persistence import FILE as ENVIRONMENT
from pipeline.environment.persistence import save_environment
from pipeline.measure.plan import Plan
from pipeline.model import Pattern, digest
from pipeline.regressions.anchors import anchors
from pipeline.regressions.detect import search, searched
from pipeline.regressions.detected import FILE as DETECTED
from pipeline.regressions.detected import Detected, NightQuality
from pipeline.regressions.reconcile import reconcile
from pipeline.regressions.rules import Rules
from pipeline.regressions.search_cache import SearchCache
from pipeline.regressions.states import known_regressions
from pipeline.storage.journal import FILE as JOURNAL
from pipeline.storage.journal import Journal, mutes, now
from pipeline.storage.runs import contents
from pipeline.storage.steps import disturbances_of
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)


@logged("detect")
def detect_stage(context: MeasuringContext, plan: Plan, night: Collection[str] = ()) -> Detected:
    """Search the series of a plan for changes; record new and resolved regressions.

    ``night`` are the ids of the timed runs that this night measured. If nothing changed since the
    last detection, its result is returned.
    """
    settings = context.config.detect
    rules = rules_of(context)
    context.regressions.record_pending(now())
    known = SearchCache(context.results)
    # Read once: what another process adds meanwhile is not what is searched here.
    stored = contents(context.store)
    if known.inputs and known.inputs == _inputs(context, plan, stored):
        return _logged(context.regressions.detection_of(plan, now()))
    series, environment = searched(context.store, plan, settings, context.results, save=True)
    save_environment(environment, context.results)
    history = known_regressions(context.regressions.events(now()))
    since = anchors(plan, history, settings.creep_since)
    found = search(series, plan, rules, environment=environment, once=known.once, anchors=since)
    if night:
        disturbed = disturbances_of(context.store, night)
        quality = NightQuality(runs=len(night), disturbed=len(disturbed))
        found = found.model_copy(update={"night": quality})
    detected = reconcile(
        found,
        plan,
        series,
        settings,
        context.results,
        now(),
        known.once,
    )
    known.save(_inputs(context, plan, stored))
    return _logged(detected)


def _inputs(context: MeasuringContext, plan: Plan, stored: str | None) -> str:
    """Return a digest of everything that detection depends on.

    ``stored`` is the digest of the runs in the store. The result is empty if a run in the store has
    no digest, or if detection has not run before.
    """
    files = [context.results / name for name in (DETECTED, ENVIRONMENT, JOURNAL)]
    if stored is None or not files[0].is_file():
        return ""
    sections = (context.config.detect, *context.config.rule, *_muted(context))
    return digest(
        [
            stored,
            plan.hash,
            [section.model_dump_json() for section in sections],
            [hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.is_file()],
        ]
    )


def _logged(detected: Detected) -> Detected:
    worse = sum(regression.worse for regression in detected.regressions)
    _LOG.info(
        "changes found",
        extra={
            "series": detected.series,
            "regressions": worse,
            "improvements": len(detected.regressions) - worse,
            "shifts": sum(len(regression.shifts) for regression in detected.regressions),
            "excused": len(detected.excused),
        },
    )
    return detected


def rules_of(context: MeasuringContext) -> Rules:
    """Return the rules of detection, from ``nightshift.toml`` and the mutes in force.

    Logs a warning if the configuration sets two budgets, of which one is ignored.
    """
    budgets = {"wrong_issues_per_month", "alarms_per_1000"}
    if budgets <= context.config.detect.model_fields_set:
        reported = context.file.problem(
            ("detect", "alarms_per_1000"),
            "this setting overrides wrong_issues_per_month; remove one of the two",
        )
        _LOG.warning(str(reported))
    return Rules(context.config.detect, context.config.rule, _muted(context))


def _muted(context: MeasuringContext) -> list[Pattern]:
    """Return the patterns of series that are muted today."""
    held = mutes(Journal(context.results).read(), now().date())
    return [event.pattern for event in held.values() if event.pattern is not None]
