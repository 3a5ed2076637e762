"""The histogram of the response times of a step."""

from __future__ import annotations

from pipeline.model import StepOutput

_DIGITS = 6
"""Significant digits of a bound: a hundred times finer than any bucket is wide."""


def histogram(output: StepOutput) -> list[tuple[float, int]]:
    """Return the non-empty buckets of response times: (upper bound in ms, operations)."""
    return [(float(f"{upper:.{_DIGITS}g}"), count) for upper, count in output.histogram if count]
