"""How far the machines of a class are apart: each against the median of those it began with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from pipeline.analyse.environment.fit import Fit
from pipeline.analyse.environment.panel import Figure, Floats, Panel

BEGINNING = timedelta(days=7)
"""Machines whose control was first measured within a week of the first of their class are what all
others are held against. One that comes later moves no value that was measured before."""

SIGNIFICANT = 2.0
"""Standard errors below which an offset is taken for none: of machines that are equal, one figure
in twenty is moved, by the little that shrinking leaves of it."""


@dataclass(frozen=True)
class Standing:
    """A machine among those of its class, as logarithms.

    ``offsets`` is (figures,): how far each figure was from the class where the machine began,
    shrunk towards it, 0 where that is not clear; ``errors`` are the standard errors before.
    """

    panel: Panel
    fit: Fit
    offsets: Floats
    errors: Floats

    @property
    def levels(self) -> Floats:
        """Return (figures, nights): how far each figure is from the class."""
        levels: Floats = self.offsets[:, None] + self.fit.moved
        return levels


def standings(measured: Sequence[tuple[Panel, Fit]]) -> list[Standing]:
    """Hold the machines of each class against one another."""
    by_class: dict[str, list[tuple[Panel, Fit]]] = {}
    for panel, fit in measured:
        by_class.setdefault(panel.place.machine_class, []).append((panel, fit))
    return [one for members in by_class.values() for one in _of_class(members)]


def _of_class(members: Sequence[tuple[Panel, Fit]]) -> list[Standing]:
    reference = _reference(members)
    raw = [
        np.array([start - reference[figure] for figure, start in _starts(*member).items()])
        for member in members
    ]
    errors = [fit.start_errors for _, fit in members]
    metrics = [np.array([figure.metric for figure in panel.figures]) for panel, _ in members]
    shrunk = [offsets.copy() for offsets in raw]
    for metric in dict.fromkeys(name for names in metrics for name in names.tolist()):
        chosen = [names == metric for names in metrics]
        between = variance_between(
            np.concatenate([each[mine] for each, mine in zip(raw, chosen, strict=True)]),
            np.concatenate([each[mine] for each, mine in zip(errors, chosen, strict=True)]),
        )
        for offsets, error, mine in zip(shrunk, errors, chosen, strict=True):
            offsets[mine] = _shrunk(offsets[mine], error[mine], between)
    return [
        Standing(panel, fit, offsets, error)
        for (panel, fit), offsets, error in zip(members, shrunk, errors, strict=True)
    ]


def variance_between(offsets: Floats, errors: Floats) -> float:
    """Return how much machines differ beyond their errors, as a variance around no difference.

    The method of moments of DerSimonian and Laird (Controlled Clinical Trials 7, 1986), with the
    mean known to be 0.
    """
    weights = 1.0 / errors**2
    excess = float((weights * offsets**2).sum()) - len(offsets)
    return max(excess, 0.0) / float(weights.sum())


def _shrunk(offsets: Floats, errors: Floats, between: float) -> Floats:
    """Return the expected offsets, given that of all (empirical Bayes; Efron and Morris 1975)."""
    expected = offsets * between / (between + errors**2)
    return np.where(np.abs(offsets) >= SIGNIFICANT * errors, expected, 0.0)


def _reference(members: Sequence[tuple[Panel, Fit]]) -> dict[Figure, float]:
    """Return the level of each figure that the class began with."""
    began: dict[Figure, list[tuple[date, float]]] = {}
    for panel, fit in members:
        for at, (figure, start) in enumerate(_starts(panel, fit).items()):
            column = int(np.isfinite(panel.means[at]).argmax())
            began.setdefault(figure, []).append((panel.nights[column], start))
    return {
        figure: float(
            np.median([start for night, start in known if night - min(known)[0] <= BEGINNING])
        )
        for figure, known in began.items()
    }


def _starts(panel: Panel, fit: Fit) -> dict[Figure, float]:
    return dict(zip(panel.figures, fit.start.tolist(), strict=True))
