"""Check whether a step sustained the target rates of its background work, such as inserts."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.model import Background, StepOutput

SUSTAINED = 0.95
"""The share of its target that a background rate must reach, as in the published reports. A step
with a lower rate has failed its SLA."""

SLA_METRICS = frozenset({"sla", "inserts/s", "deletes/s"})
"""Metrics of a step's background work."""


def background(output: StepOutput) -> dict[str, float]:
    """Return the metrics of a step's background work by name: rates, target rates and ``sla``.

    ``sla`` is the smallest ratio of a rate to its target; without targets it is missing.
    """
    values = {f"{name}/s": rate.achieved for name, rate in output.background.items()}
    values |= {f"{name}_target": target for name, _, target in _with_targets(output)}
    parts = [rate.achieved / target for _, rate, target in _with_targets(output)]
    return values | ({"sla": min(parts)} if parts else {})


def missed_rates(output: StepOutput) -> str:
    """Describe the background rates that a step did not sustain; empty if there are none."""
    return ", ".join(
        f"{rate.achieved:.0f} of {target:.0f} {name}/s"
        for name, rate, target in _with_targets(output)
        if rate.achieved < SUSTAINED * target
    )


def _with_targets(output: StepOutput) -> Iterator[tuple[str, Background, float]]:
    for name, rate in output.background.items():
        if rate.target:
            yield name, rate, rate.target
