"""The page about one explained regression: its series, the reasons, and the functions that grew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.explain.call_tree import CallFrame
from pipeline.explain.counted_change import CountedChange
from pipeline.explain.explanation import Explanation, StepExplanation
from pipeline.model import Regression
from pipeline.site.format import change, figure, interval
from pipeline.site.setups import LineSetup

Trends = Mapping[tuple[str, LineSetup], str]
"""The names of trends by line and setup."""


def view_explained(
    regression: Regression, explanation: Explanation, trends: Trends
) -> dict[str, Any]:
    """Return the data of the page about one regression."""
    return {
        "why": explanation.kind.value,
        "rows": [
            {
                "step": shift.series.step,
                "metric": shift.series.metric,
                "mode": shift.series.mode.value,
                "before": figure(shift.before),
                "after": figure(shift.after),
                "effect": change(shift),
                "interval": interval(shift),
                "worse": shift.worse,
                "trend": trends.get((regression.line, LineSetup.of(shift.series)), ""),
            }
            for shift in regression.shifts
        ],
        "steps": [_step(step) for step in explanation.steps],
        "settings": explanation.settings.summary,
    }


def _step(step: StepExplanation) -> dict[str, Any]:
    return {
        "step": step.step,
        "setup": step.setup,
        "findings": [
            {"kind": finding.kind.value, "evidence": list(finding.evidence)}
            for finding in step.findings
        ],
        "counted": _counted(step.counted) if step.counted is not None else None,
    }


def _counted(counted: CountedChange) -> dict[str, Any]:
    return {
        "before": counted.before,
        "after": counted.after,
        "functions": [
            {
                "function": each.function,
                "binary": each.binary,
                "before": each.before,
                "after": each.after,
                "share": each.share,
            }
            for each in counted.functions
        ],
        "frames": [_frame(frame) for frame in counted.calls],
    }


def _frame(frame: CallFrame) -> list[Any]:
    """Return a function of the call tree as a short array for the page."""
    costs = (frame.before, frame.after, frame.self_before, frame.self_after)
    return [frame.function, frame.parent, *(round(cost, 1) for cost in costs)]
