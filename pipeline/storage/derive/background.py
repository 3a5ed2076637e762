"""The background work of a step, as inserts beside queries: is its rate sustained?"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.model import Background, StepOutput

SUSTAINED = 0.95
"""Share of a target rate below which the rate is not sustained, as in the published reports: the
step has then failed its SLA."""

SLA_METRICS = frozenset({"sla", "inserts/s", "deletes/s"})
"""Metrics of the work that runs beside a measured step."""


def background(output: StepOutput) -> dict[str, float]:
    """Return the metrics of a step's background work, by name: rates, targets, and ``sla``.

    The metric ``sla`` is the smallest ratio of a rate to its target; it is missing without targets.
    """
    values = {f"{name}/s": rate.achieved for name, rate in output.background.items()}
    values |= {f"{name}_target": target for name, _, target in _with_targets(output)}
    parts = [rate.achieved / target for _, rate, target in _with_targets(output)]
    return values | ({"sla": min(parts)} if parts else {})


def missed_rates(output: StepOutput) -> str:
    """Describe the background rates that a step did not sustain; empty if it sustained all."""
    return ", ".join(
        f"{rate.achieved:.0f} of {target:.0f} {name}/s"
        for name, rate, target in _with_targets(output)
        if rate.achieved < SUSTAINED * target
    )


def _with_targets(output: StepOutput) -> Iterator[tuple[str, Background, float]]:
    for name, rate in output.background.items():
        if rate.target:
            yield name, rate, rate.target
