"""Reduce the samples of each run to a level with its standard error.

Runs are the unit of comparison. The per-second samples of a run share its build, memory layout and
hour, so they say nothing about the differences between runs; they only reduce the noise of the
run's level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from changepoint.series import LARGEST, Floats

Run = float | None | Sequence[float | None] | Floats
"""One run: its figure, or its per-second samples in order. None and nan are missing."""

TRIM = 0.1
"""Share of a run's samples trimmed at either end before averaging: a stall of six seconds a minute
does not move the level, whereas a median would jump between two modes."""

MIN_BATCHED = 16
"""Minimum samples of a run for a standard error: four batches of four."""

MOST_RUNS = 2000
"""Maximum runs of a sample. A larger number is probably the per-second samples of one run, passed
without an enclosing list; the pairs of so many values would not fit in memory."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of one side: a level and a standard error for each.

    levels: one per run, (runs,). errors: their standard errors from the samples, (runs,), 0 for a
    run with too few samples.
    """

    levels: Floats
    errors: Floats


def read(name: str, runs: Sequence[Run] | Floats) -> list[Floats]:
    """Return the measured samples of each run that has any.

    Raises:
        ValueError: no run has samples, there are too many runs, a run is not a number or a list of
            numbers, or a value is beyond 1e300. The message is one sentence that starts with
            ``name``.
    """
    given: object = runs
    if isinstance(given, str | bytes) or not isinstance(given, Sequence | np.ndarray):
        raise ValueError(f"{name} must be a list of runs, not {runs!r}")
    if isinstance(runs, np.ndarray) and runs.ndim == 1 and runs.dtype == np.float64:
        kept = list(_samples(name, runs)[:, np.newaxis])
    else:
        each = np.atleast_1d(runs) if isinstance(runs, np.ndarray) else runs
        measured = (_samples(f"{name}, run {i}", run) for i, run in enumerate(each))
        kept = [samples for samples in measured if len(samples)]
    if not kept:
        raise ValueError(f"{name} has no measured run")
    if len(kept) > MOST_RUNS:
        raise ValueError(
            f"{name} has {len(kept)} runs, more than the maximum of {MOST_RUNS}; pass the "
            "samples of one run as a nested list"
        )
    return kept


def _samples(name: str, run: Run) -> Floats:
    try:
        samples = np.atleast_1d(np.array(run, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or a list of numbers") from None
    if samples.ndim != 1:
        raise ValueError(f"{name} must be a number or a list of numbers")
    samples = samples[~np.isnan(samples)]
    beyond = samples[np.abs(samples) > LARGEST]
    if len(beyond):
        raise ValueError(f"values of {name} must be within ±{LARGEST:g}, not {beyond[0]:g}")
    return samples


def summarise(runs: list[Floats], exponent: int) -> Runs:
    """Return the level and the standard error of each run."""
    if all(len(samples) == 1 for samples in runs):
        return Runs(np.ldexp(np.concatenate(runs), -exponent), np.zeros(len(runs)))
    scaled = [np.ldexp(samples, -exponent) for samples in runs]
    return Runs(
        np.array([level(samples) for samples in scaled]),
        np.array([standard_error(samples) for samples in scaled]),
    )


def level(samples: Floats) -> float:
    """Return the mean of samples without the lowest and the highest tenth.

    Samples are (n,).
    """
    dropped = int(TRIM * len(samples))
    return float(np.mean(np.sort(samples)[dropped : len(samples) - dropped]))


def standard_error(samples: Floats) -> float:
    """Return the standard error of a run's level, allowing for correlation of its samples.

    The method is batch means (Conway, Management Science 9, 1963). The outer tenths of the samples
    are winsorised, as in the standard error of a trimmed mean (Tukey and McLaughlin, Sankhya A 25,
    1963), and cut into sqrt(n) batches of sqrt(n) neighbours. The scatter of the batch means
    includes the effect of autocorrelation.
    """
    count = len(samples)
    if count < MIN_BATCHED:
        return 0.0
    dropped = int(TRIM * count)
    ordered = np.sort(samples)
    tame = np.clip(samples, ordered[dropped], ordered[count - 1 - dropped])
    length = math.isqrt(count)
    batches = count // length
    means = tame[: batches * length].reshape(batches, length).mean(axis=1)
    scatter = float(np.std(means, ddof=1)) / math.sqrt(batches)
    return scatter / (1.0 - 2.0 * dropped / count)
