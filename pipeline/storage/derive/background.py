"""Background work of a step: its rates, and whether they were sustained."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.model import Background, StepOutput

SUSTAINED = 0.95
"""The part of a target rate below which the rate counts as not sustained, as published: the step
has failed its SLA."""

SLA_METRICS = frozenset({"sla", "inserts/s", "deletes/s"})
"""Metrics of the work that runs beside a measured step."""


def background(output: StepOutput) -> dict[str, float]:
    """Return the rates, their targets, and ``sla``: the smallest ratio of a rate to its target."""
    values = {f"{name}/s": rate.achieved for name, rate in output.background.items()}
    values |= {f"{name}_target": target for name, _, target in _with_targets(output)}
    parts = [rate.achieved / target for _, rate, target in _with_targets(output)]
    return values | ({"sla": min(parts)} if parts else {})


def missed_rates(output: StepOutput) -> str:
    """Describe the rates that were not sustained; empty if all were."""
    return ", ".join(
        f"{rate.achieved:.0f} of {target:.0f} {name}/s"
        for name, rate, target in _with_targets(output)
        if rate.achieved < SUSTAINED * target
    )


def _with_targets(output: StepOutput) -> Iterator[tuple[str, Background, float]]:
    for name, rate in output.background.items():
        if rate.target:
            yield name, rate, rate.target
