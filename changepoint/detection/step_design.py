"""Weighted least squares of a level, a slope and steps, without a matrix of all positions.

The rows of such a design are: a constant 1; the position; and for each step, 0 before it and 1 from
it on. A sum over a row is a sum over the end of a series, so all coefficients of a fit follow from
running sums. For thousands of positions and dozens of steps this takes a hundredth of the time that
the matrix would take.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from changepoint.series import Floats, Ints


class StepDesign:
    """The rows of a fit to the means of positions: the level, the slope, then the steps.

    Attributes:
        counts: (positions,) weights of the means in the fit.
        steps: ordinals of the positions where a step begins, each once and above 0.
    """

    def __init__(self, counts: Floats, steps: Sequence[int]) -> None:
        self.counts = counts
        self.steps: Ints = np.array(steps, dtype=np.int64)
        self._line = np.arange(len(counts)) - (len(counts) - 1.0) / 2.0

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values times each row of the design, (rows,). values: (positions,)."""
        ends = np.cumsum(values[::-1])[::-1]
        return np.concatenate(([ends[0], self._line @ values], ends[self.steps]))

    def combined(self, figures: Floats) -> Floats:
        """Return the sum of all rows times their coefficients, (positions,). figures: (rows,)."""
        jumps = np.zeros(len(self.counts))
        jumps[self.steps] = figures[2:]
        return np.asarray(figures[0] + figures[1] * self._line + np.cumsum(jumps))

    @cached_property
    def products(self) -> Floats:
        """The weighted product of each pair of rows, (rows, rows): the normal equations."""
        products = np.empty((2 + len(self.steps), 2 + len(self.steps)))
        products[0] = products[:, 0] = self.sums(self.counts)
        products[1] = products[:, 1] = self.sums(self.counts * self._line)
        products[1, 1] = self._line @ (self.counts * self._line)
        # Two steps overlap from the later one on, where fewer positions are left.
        products[2:, 2:] = np.minimum.outer(products[0, 2:], products[0, 2:])
        return products

    @cached_property
    def _inverse(self) -> Floats:
        return np.asarray(np.linalg.inv(self.products))

    def fit(self, means: Floats) -> Floats:
        """Fit the means: return level, slope and steps, (rows,). means: (positions,)."""
        return np.asarray(self._inverse @ self.sums(self.counts * means))

    def weights(self, row: int) -> Floats:
        """Return the weights of the means in the fitted coefficient of a row, (positions,)."""
        return self.combined(self._inverse[row]) * self.counts

    def without_steps(self, weights: Floats) -> Floats:
        """Return weights adjusted so that the fitted steps do not change the weighted sum.

        weights: (positions,) the weights before the adjustment. Returns (positions,).
        """
        of_steps = self.sums(weights)
        of_steps[:2] = 0.0
        return weights - self.combined(self._inverse @ of_steps) * self.counts
