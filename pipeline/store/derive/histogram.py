"""How many operations took how long."""

from __future__ import annotations

from pipeline.model import StepOutput

_DIGITS = 6
"""Significant digits of a bound: a hundred times finer than any bucket is wide."""


def histogram(output: StepOutput) -> list[tuple[float, int]]:
    """Return (upper bound in milliseconds, operations) of every bucket that has any, ascending."""
    return [(float(f"{upper:.{_DIGITS}g}"), count) for upper, count in output.histogram if count]
