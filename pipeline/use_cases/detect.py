"""The stage detect: search the series of a plan, and reconcile the result with the journal."""

from __future__ import annotations

import logging

from pipeline.environment.persistence import save_environment
from pipeline.measure.plan import Plan
from pipeline.regressions.detect import search, searched
from pipeline.regressions.detected import Detected
from pipeline.regressions.reconcile import reconcile
from pipeline.regressions.rules import Rules
from pipeline.regressions.search_cache import SearchCache
from pipeline.storage.journal import Journal, mutes, now
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)


@logged("detect")
def detect_stage(context: MeasuringContext, plan: Plan) -> Detected:
    """Search the series of a plan, and record new and gone regressions in the journal."""
    settings = context.config.detect
    series, environment = searched(context.store, plan, settings, context.results, save=True)
    save_environment(environment, context.results)
    known = SearchCache(context.results)
    found = search(series, plan, rules_of(context), environment=environment, known=known)
    detected = reconcile(
        found,
        plan,
        series,
        settings,
        context.results,
        now(),
        known.verdict,
    )
    known.save()
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
    """Return the rules of detection: those of the configuration, and the mutes of the journal.

    Logs a warning if the configuration sets two budgets, of which one is ignored.
    """
    budgets = {"wrong_issues_per_month", "alarms_per_1000"}
    if budgets <= context.config.detect.model_fields_set:
        told = context.file.problem(
            ("detect", "alarms_per_1000"),
            "this setting overrides wrong_issues_per_month; remove one of the two",
        )
        _LOG.warning(str(told))
    held = mutes(Journal(context.results).read(), now().date())
    patterns = [event.pattern for event in held.values() if event.pattern is not None]
    return Rules(context.config.detect, context.config.rule, patterns)
