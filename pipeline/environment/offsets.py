"""How much each machine of a class differs from the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from pipeline.environment.fit import LevelFit
from pipeline.environment.panel import ControlFigure, Floats, Panel

BEGINNING = timedelta(days=7)
"""Machines whose first control is within a week of the first one of the class form the reference. A
machine that is added later therefore changes no value measured before."""

SIGNIFICANT = 2.0
"""Offsets of fewer standard errors count as zero. Even among equal machines, one figure in twenty
has a larger offset, which shrinkage reduces but does not remove."""


@dataclass(frozen=True)
class MachineOffset:
    """How much each control figure of a machine differs from its class (logarithms).

    ``offsets`` is (figures,): each figure's distance from the class at the machine's beginning,
    shrunk towards 0, and 0 if it is not significant. ``errors`` are the standard errors before
    shrinkage.
    """

    panel: Panel
    fit: LevelFit
    offsets: Floats
    errors: Floats

    @property
    def levels(self) -> Floats:
        """Return how far each control figure is from the machine class in each night.

        Returns (figures, nights), as natural logarithms.
        """
        levels: Floats = self.offsets[:, None] + self.fit.moved
        return levels


def machine_offsets(measured: Sequence[tuple[Panel, LevelFit]]) -> list[MachineOffset]:
    """Compare the machines of each class by their controls."""
    by_class: dict[str, list[tuple[Panel, LevelFit]]] = {}
    for panel, fit in measured:
        by_class.setdefault(panel.place.machine_class, []).append((panel, fit))
    return [one for members in by_class.values() for one in _of_class(members)]


def _of_class(members: Sequence[tuple[Panel, LevelFit]]) -> list[MachineOffset]:
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
        MachineOffset(panel, fit, offsets, error)
        for (panel, fit), offsets, error in zip(members, shrunk, errors, strict=True)
    ]


def variance_between(offsets: Floats, errors: Floats) -> float:
    """Estimate how much machines of a class truly differ from each other (a variance).

    This is the method of moments of DerSimonian and Laird (Controlled Clinical Trials 7, 1986),
    with a known mean of 0.
    """
    weights = 1.0 / errors**2
    excess = float((weights * offsets**2).sum()) - len(offsets)
    return max(excess, 0.0) / float(weights.sum())


def _shrunk(offsets: Floats, errors: Floats, between: float) -> Floats:
    """Shrink measured differences between machines by how much they vary (empirical Bayes)."""
    expected = offsets * between / (between + errors**2)
    return np.where(np.abs(offsets) >= SIGNIFICANT * errors, expected, 0.0)


def _reference(members: Sequence[tuple[Panel, LevelFit]]) -> dict[ControlFigure, float]:
    """Return the logarithm of each control figure's level when the machine class began."""
    began: dict[ControlFigure, list[tuple[date, float]]] = {}
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


def _starts(panel: Panel, fit: LevelFit) -> dict[ControlFigure, float]:
    return dict(zip(panel.figures, fit.start.tolist(), strict=True))
