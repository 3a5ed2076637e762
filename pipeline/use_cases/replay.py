"""Replay past nights, to see what the present settings would have found."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.ledger.replay import Raised, nights, replay
from pipeline.measure.progress import Watcher, counting
from pipeline.regressions.watched import watched_metrics, watched_series
from pipeline.storage.columns import measurement_columns
from pipeline.storage.controls import control_rows
from pipeline.storage.journal import now
from pipeline.storage.runs import hostnames, run_heads
from pipeline.use_cases.detect import rules_of
from pipeline.use_cases.measuring import MeasuringContext


class Replayed(NamedTuple):
    """How many nights were replayed, and which regressions they would have found."""

    nights: int
    raised: list[Raised]


def replay_nights(context: MeasuringContext, watcher: Watcher) -> Replayed:
    """Replay the stored nights, one revision at a time, without writing anything."""
    plan = context.plan()
    settings = context.config.detect
    columns = measurement_columns(context.store, watched_metrics(plan, settings), context.results)
    series = watched_series(columns, plan, settings)
    with counting(watcher, "replay", nights(plan)) as progress:
        raised = replay(
            plan,
            series,
            run_heads(context.store, cells=plan.keys()),
            hostnames(context.store),
            rules_of(context),
            settings,
            context.regressions.events(now()),
            progress,
            tuple(control_rows(context.store, settings.metrics)),
        )
    return Replayed(nights(plan), list(raised))
