"""From what a step printed and what the probes read, to its measurements.

Pure functions. The definitions are those of the Small Datum reports; see docs/metrics.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.model import Sample, StepOutput
from pipeline.store.derive.background import background
from pipeline.store.derive.hardware import hardware
from pipeline.store.derive.variance import variance


def measurements(
    output: StepOutput, samples: Sequence[Sample], database_bytes: int | None = None
) -> dict[str, float]:
    """Return every metric of a step that its output and samples allow, by name."""
    throughput = output.operations / output.seconds if output.seconds > 0 else 0.0
    beside = background(output)
    values = {"qps": throughput, "errors": float(output.errors)}
    values |= {f"latency_{name}": value for name, value in output.latency_ms.items()}
    values |= variance(output.timeline)
    values |= hardware(samples, throughput, beside.get("inserts/s", 0.0))
    values |= beside
    values |= output.figures
    if database_bytes is not None:
        values["dbsize"] = float(database_bytes)
    return values
