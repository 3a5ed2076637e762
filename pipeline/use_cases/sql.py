"""Run a person's own query on the views of the store."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from pipeline.explain.explanation import class_of
from pipeline.model import Shift
from pipeline.regressions.grouping import worst
from pipeline.regressions.states import KnownRegression
from pipeline.storage.journal import now
from pipeline.storage.queries import Answer, RegressionRow, ask
from pipeline.use_cases.context import Context
from pipeline.use_cases.planning import PlanningContext


def run_query(context: PlanningContext, query: str, limit: int) -> Answer:
    """Return at most ``limit`` rows of a query on the store's views.

    The plan and the journal are read only for a query that names the views that need them. Raises
    UserError as :func:`ask` does.
    """
    lines = context.plan().lines if _names(query, "series_point") else ()
    rows = regression_rows(context) if _names(query, "regression") else ()
    return ask(context.store, query, limit, lines, rows)


def regression_rows(context: Context) -> list[RegressionRow]:
    """Return the rows of the view ``regression``: the series of all known regressions."""
    return rows_of(context.regressions.known(now()).values(), context.results)


def rows_of(regressions: Iterable[KnownRegression], results: Path) -> list[RegressionRow]:
    """Return the rows of some regressions; the explanations are below ``results``."""
    return [
        _row(known, shift, class_of(known.regression, results))
        for known in regressions
        for shift in known.regression.shifts
    ]


def _names(query: str, view: str) -> bool:
    return re.search(rf"\b{view}\b", query, re.IGNORECASE) is not None


def _row(known: KnownRegression, shift: Shift, cause: str) -> RegressionRow:
    found, key, decided = known.regression, shift.series, known.decided
    return RegressionRow(
        fingerprint=found.fingerprint,
        state=known.state.value,
        kind=found.kind.value,
        direction="regression" if found.worse else "improvement",
        cause=cause,
        target=found.target,
        line=found.line,
        last_good=found.last_good,
        first_bad=found.first_bad,
        position=found.position,
        found_at=known.events[0].at.isoformat(sep=" ", timespec="seconds"),
        culprit=found.culprit.revision if found.culprit is not None else None,
        recovers=found.recovers or None,
        decided_by=decided.by if decided is not None else None,
        decided_at=decided.at.isoformat(sep=" ", timespec="seconds") if decided else None,
        expires=known.expires.isoformat() if known.expires is not None else None,
        note=known.note,
        reason=known.reason,
        worst=shift == worst(found),
        workload=key.workload,
        workload_hash=key.workload_hash,
        clients=key.clients,
        mode=key.mode.value,
        config=key.config,
        build_options=key.build_options,
        machine_class=key.machine_class,
        step=key.step,
        metric=key.metric,
        level_before=shift.before,
        level_after=shift.after,
        effect=shift.effect,
        effect_low=shift.effect_low,
        effect_high=shift.effect_high,
        pvalue=shift.pvalue,
    )
