"""How much the controls of a machine scatter from night to night, whatever their level does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.analyse.environment.panel import Figure, Floats, Panel

NORMAL_MAD = 1.4826
"""Standard deviation of normal noise over its median absolute deviation."""

LEAST_NOISE = 1e-3
"""The least standard deviation of a control that is believed, .1 %: values are rounded, and few
nights may agree by chance."""

MOST_MOOD = 0.8
"""The highest autocorrelation that is allowed for. A machine whose moods last longer drifts."""


FEW = 10
"""Nights below which a machine's own scatter is not believed, but that of its class."""

USUAL = 0.01
"""The noise of a night, 1 %, of a class of which nobody knows it yet."""


def deviations(panels: Sequence[Panel]) -> list[Floats]:
    """Return, for each panel, the standard deviation (figures,) of a night around its level.

    That of a machine with few nights is the median of its class.
    """
    own = [_scatter(panel.means) for panel in panels]
    known: dict[tuple[str, Figure], list[float]] = {}
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
    """Return the deviation of each of (figures, nights); nan where there are few nights.

    From the differences of neighbouring nights, so that steps and ramps add next to nothing (von
    Neumann 1941, made robust by their median).
    """
    found = np.full(len(values), np.nan)
    for at, row in enumerate(values):
        measured = row[np.isfinite(row)]
        if len(measured) >= FEW:
            apart = NORMAL_MAD * float(np.median(np.abs(np.diff(measured)))) / np.sqrt(2.0)
            found[at] = max(apart, LEAST_NOISE)
    return found


def clipped(residuals: Floats, deviation: float) -> Floats:
    """Return residuals with those beyond three deviations moved there: a bad night is no trend."""
    return np.clip(residuals, -3.0 * deviation, 3.0 * deviation)


def moods(residuals: Floats) -> float:
    """Return the autocorrelation of neighbouring nights, of all figures (figures, nights) alike.

    What .1 does to an error is less than is known of it from a few months, so the standard error
    of the estimate is taken off; see docs/statistics.md for the same rule in the detection.
    """
    pairs = [row[np.isfinite(row)] for row in residuals]
    products = sum(float(row[1:] @ row[:-1]) for row in pairs)
    squares = sum(float(row @ row) for row in pairs)
    if squares == 0.0:
        return 0.0
    nights = max((len(row) for row in pairs), default=0)
    phi = products / squares - 1.0 / np.sqrt(max(nights, 1))
    return float(np.clip(phi, 0.0, MOST_MOOD))
