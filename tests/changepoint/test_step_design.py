"""Least squares of a level, a slope and steps, against the same fit with a matrix."""

from __future__ import annotations

import numpy as np
import pytest

from changepoint.detection.step_design import StepDesign
from changepoint.series import Floats


def matrix(count: int, steps: list[int]) -> Floats:
    """The rows of the design: (2 + steps, positions)."""
    ordinals = np.arange(count)
    rows = [np.ones(count), ordinals - (count - 1.0) / 2.0, *(ordinals >= at for at in steps)]
    return np.vstack(rows).astype(np.float64)


@pytest.mark.parametrize("steps", [[], [1], [40], [39, 17, 18], list(range(3, 40, 4))])
def test_it_is_the_fit_with_a_matrix(steps: list[int]) -> None:
    chance = np.random.default_rng(len(steps))
    counts = chance.integers(1, 6, 41).astype(np.float64)
    means, ends = chance.normal(size=41), chance.normal(size=41)
    rows, design = matrix(41, steps), StepDesign(counts, steps)
    weights = np.linalg.solve((rows * counts) @ rows.T, rows * counts)
    np.testing.assert_allclose(design.products, (rows * counts) @ rows.T, atol=1e-9)
    np.testing.assert_allclose(design.sums(means), rows @ means, atol=1e-9)
    figures = design.fit(means)
    np.testing.assert_allclose(figures, weights @ means, atol=1e-9)
    np.testing.assert_allclose(design.combined(figures), figures @ rows, atol=1e-9)
    np.testing.assert_allclose(
        [design.weights(row) for row in range(len(rows))], weights, atol=1e-9
    )
    np.testing.assert_allclose(
        design.without_steps(ends), ends - (rows[2:] @ ends) @ weights[2:], atol=1e-9
    )
