"""The histogram of a step's response times."""

from __future__ import annotations

from pipeline.model import StepOutput

_DIGITS = 6
"""Significant digits of a bound: a hundred times finer than any bucket is wide."""


def histogram(output: StepOutput) -> list[tuple[float, int]]:
    """Return (upper bound in milliseconds, operations) of every non-empty bucket, ascending."""
    return [(float(f"{upper:.{_DIGITS}g}"), count) for upper, count in output.histogram if count]
