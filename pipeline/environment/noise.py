"""How much a machine's controls scatter from night to night."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.environment.panel import ControlFigure, Floats, Panel

NORMAL_MAD = 1.4826
"""Ratio of the standard deviation of normal noise to its median absolute deviation."""

LEAST_NOISE = 1e-3
"""Lower bound of a control's standard deviation, 0.1 %. Values are rounded, and few nights may
agree by chance."""

MOST_MOOD = 0.8
"""Upper bound of the estimated autocorrelation. A machine with stronger autocorrelation drifts."""


FEW = 10
"""Number of nights below which a machine takes the scatter of its class instead of its own."""

USUAL = 0.01
"""Standard deviation of a night, 1 %, for a class without an estimate."""


def deviations(panels: Sequence[Panel]) -> list[Floats]:
    """Return for each machine the standard deviation of a night around the machine's level.

    Returns (figures,) for each.

    A machine with few nights takes the median of its class.
    """
    own = [_scatter(panel.means) for panel in panels]
    known: dict[tuple[str, ControlFigure], list[float]] = {}
    for panel, found in zip(panels, own, strict=True):
        for figure, deviation in zip(panel.figures, found.tolist(), strict=True):
            if np.isfinite(deviation):
                known.setdefault((panel.place.machine_class, figure), []).append(deviation)
    usual = {key: float(np.median(of_class)) for key, of_class in known.items()}
    return [
        np.where(
            np.isfinite(found),
            found,
            [usual.get((panel.place.machine_class, each), USUAL) for each in panel.figures],
        )
        for panel, found in zip(panels, own, strict=True)
    ]


def _scatter(values: Floats) -> Floats:
    """Return the standard deviation of each control figure; nan if there are few nights.

    The estimate uses differences of adjacent nights, so steps and ramps add almost nothing (von
    Neumann 1941, made robust with their median).
    """
    found = np.full(len(values), np.nan)
    for at, row in enumerate(values):
        measured = row[np.isfinite(row)]
        if len(measured) >= FEW:
            apart = NORMAL_MAD * float(np.median(np.abs(np.diff(measured)))) / np.sqrt(2.0)
            found[at] = max(apart, LEAST_NOISE)
    return found


def clipped(residuals: Floats, deviation: float) -> Floats:
    """Limit residuals to three standard deviations, so that one bad night is no trend."""
    return np.clip(residuals, -3.0 * deviation, 3.0 * deviation)


def autocorrelation(residuals: Floats) -> float:
    """Return the correlation between neighbouring nights, over all control figures.

    Residuals are (figures, nights).

    The estimate is reduced by its standard error: after a few months, an autocorrelation of 0.1
    changes a standard error by less than the uncertainty of that error. Detection has the same
    rule: docs/internals/statistics.md.
    """
    pairs = [row[np.isfinite(row)] for row in residuals]
    products = sum(float(row[1:] @ row[:-1]) for row in pairs)
    squares = sum(float(row @ row) for row in pairs)
    if squares == 0.0:
        return 0.0
    nights = max((len(row) for row in pairs), default=0)
    phi = products / squares - 1.0 / np.sqrt(max(nights, 1))
    return float(np.clip(phi, 0.0, MOST_MOOD))
