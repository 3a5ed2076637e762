"""From what a step printed and what the probes read, to its measurements.

Pure functions. The definitions are those of the Small Datum reports; see docs/metrics.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.model import Sample, StepOutput
from pipeline.store.derive.background import background
from pipeline.store.derive.hardware import hardware
from pipeline.store.derive.oscillation import oscillation
from pipeline.store.derive.steady import figures, steadiness
from pipeline.store.derive.steady import marks as steady_marks
from pipeline.store.derive.variance import variance


def measurements(
    output: StepOutput,
    samples: Sequence[Sample],
    database_bytes: int | None = None,
    memory_bytes: int = 0,
) -> dict[str, float]:
    """Return every metric of a step that its output and samples allow, by name.

    ``memory_bytes`` is the machine's memory, 0 if it is not known.
    """
    throughput = output.operations / output.seconds if output.seconds > 0 else 0.0
    beside = background(output)
    values = {"qps": throughput, "errors": float(output.errors)}
    values |= {f"latency_{name}": value for name, value in output.latency_ms.items()}
    values |= variance(output.timeline)
    values |= _over_time(output)
    values |= hardware(samples, throughput, beside.get("inserts/s", 0.0))
    values |= beside
    values |= output.figures
    if database_bytes is not None:
        values["dbsize"] = float(database_bytes)
    if database_bytes and memory_bytes:
        values["cached"] = min(memory_bytes / database_bytes, 1.0)
    return values


def marks(output: StepOutput) -> tuple[str, ...]:
    """Return what is to be known of a step before its figures are believed, a sentence each."""
    found = steadiness(output.timeline)
    return steady_marks(found) if found is not None else ()


def _over_time(output: StepOutput) -> dict[str, float]:
    """Return whether the throughput was steady, and its swings from when it was."""
    found = steadiness(output.timeline)
    if found is None:
        return {}
    steady = [point for point in output.timeline if point.at > found.warming]
    return figures(found) | oscillation(steady)
