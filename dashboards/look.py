"""Colours and limits, the same on every dashboard.

The colours are from the set of Okabe and Ito, which colour-blind people can distinguish: worse is
orange to vermilion, better is blue, never red and green.
"""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import ThresholdsConfig
from grafana_foundation_sdk.models.dashboard import Threshold, ThresholdsMode

WORSE, BAD, PLAIN, GOOD, BETTER = "#D55E00", "#E69F00", "#8E8E8E", "#56B4E9", "#0072B2"
UNCHANGED = "rgba(142, 142, 142, 0.2)"
CYCLE = (BETTER, BAD, "#009E73", "#CC79A7", GOOD, WORSE, "#F0E442", PLAIN)
"""Colours of the queries of a panel, in their order."""

SECONDS, BYTES, RATIO, PERCENT = "s", "bytes", "none", "percentunit"
RATE, BYTE_RATE, COUNT = "ops", "Bps", "short"
"""Units by Grafana's names."""

HOUR = 3600.0


def limits(first: str, *steps: tuple[float, str]) -> ThresholdsConfig:
    """Return thresholds: ``first`` from below, then each colour from its value on."""
    return (
        ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps([Threshold(None, first), *(Threshold(value, color) for value, color in steps)])
    )


def relative_limits() -> ThresholdsConfig:
    """Return the limits of relative QPS: coloured beyond 3 %, strongly beyond 10 %."""
    return limits(WORSE, (0.90, BAD), (0.97, UNCHANGED), (1.03, GOOD), (1.10, BETTER))


def cost_limits() -> ThresholdsConfig:
    """Return the limits of relative counts: coloured beyond .5 %, strongly beyond 5 %."""
    return limits(BETTER, (0.95, GOOD), (0.995, UNCHANGED), (1.005, BAD), (1.05, WORSE))


def no_limits() -> ThresholdsConfig:
    """Return limits without colours, for values that are neither good nor bad."""
    return limits(PLAIN)


def none_is_good() -> ThresholdsConfig:
    """Return the limits of a value that should be zero."""
    return limits(BETTER, (1.0, WORSE))
