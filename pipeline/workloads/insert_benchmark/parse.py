"""Parse what sysbench prints about a step of the Insert Benchmark."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.model import Background, Scale, StepOutput, TimePoint
from pipeline.workloads.base.histogram import latencies
from pipeline.workloads.base.tally import Tally, read_tallies
from pipeline.workloads.insert_benchmark.catalogue import (
    INDEXES,
    SECONDARY_INDEXES,
    InsertBenchmarkStep,
)


def read_output(text: str, spec: InsertBenchmarkStep, scale: Scale) -> StepOutput:
    """Parse the output of a step of the Insert Benchmark.

    Raises ValueError, with an error message, for incomplete output, and for a step without any
    event.
    """
    tallies = read_tallies(text)
    missing = [kind for kind in spec.kinds if kind not in tallies]
    if missing:
        raise ValueError(f"sysbench's output is incomplete: it has no {', '.join(missing)}")
    measured = tallies[spec.measured]
    if not measured.events or measured.seconds <= 0:
        raise ValueError(f"sysbench completed no event of {spec.name} in {measured.seconds:g} s")
    makes_indexes = spec.measured == INDEXES
    operations = measured.operations * (scale.rows / SECONDARY_INDEXES if makes_indexes else 1)
    # A client creates three indexes in all, so that a second has one or none.
    timeline = () if makes_indexes else measured.timeline
    return StepOutput(
        operations=operations,
        seconds=measured.seconds,
        timeline=tuple(TimePoint(at=at, ops_per_second=rate) for at, rate in timeline),
        latency_ms=latencies(measured.histogram, measured.average_ms, measured.max_ms),
        histogram=measured.histogram,
        errors=sum(tallies[kind].errors for kind in spec.kinds),
        background=_background(tallies, spec, scale.clients),
        figures=_responses_beside(tallies, spec),
    )


def _background(
    tallies: Mapping[str, Tally], spec: InsertBenchmarkStep, clients: int
) -> dict[str, Background]:
    """Return the actual and target rates of a step's background work, by kind of work."""
    return {
        kind: Background(
            achieved=tallies[kind].per_second,
            target=float(spec.rate * clients) if spec.rate else None,
        )
        for kind in spec.kinds[1:]
    }


def _responses_beside(tallies: Mapping[str, Tally], spec: InsertBenchmarkStep) -> dict[str, float]:
    """Return response times of the background work (p99 and maximum, in ms), by metric."""
    done = {kind: tallies[kind] for kind in spec.kinds[1:] if tallies[kind].events}
    return {
        f"{kind}_{name}": latencies(tally.histogram, tally.average_ms, tally.max_ms)[name]
        for kind, tally in done.items()
        for name in ("p99", "max")
    }
