"""The histogram of the response times of a step."""

from __future__ import annotations

from pipeline.model import StepOutput

_DIGITS = 6
"""Significant digits of a bucket's bound: the rounding error is at most a hundredth of the bucket's
width."""


def histogram(output: StepOutput) -> list[tuple[float, int]]:
    """Return the non-empty buckets of response times: (upper bound in ms, operations)."""
    return [(float(f"{upper:.{_DIGITS}g}"), count) for upper, count in output.histogram if count]
