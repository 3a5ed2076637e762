"""Convert an accepted number of wrong issues per month to an alarm budget for detection."""

from __future__ import annotations

import math

MOST = 5.0
"""Largest ``alarms_per_1000`` of a budget: the highest value for which the false alarms of
``detect`` were measured. A more generous budget adds hardly any recall."""


def budget(series: int, nights: float, wrong_issues_per_month: float) -> float:
    """Return the ``alarms_per_1000`` that limits wrong issues per month to a given number.

    Wrong alarms add up in expectation, whatever the dependence of the series, so

        wrong issues per month <= series * nights * alarms_per_1000 / 1000

    and the threshold is 1000 * wrong_issues_per_month / (series * nights), at most ``MOST``. The
    bound assumes that every alarm becomes an issue of its own. Alarms of one cause that are filed
    together, and alarms that a confirming measurement rejects, only lower the number.

    Args:
        series: number of series that are searched each night.
        nights: number of nights per month on which the series get a new position.
        wrong_issues_per_month: average number of wrong issues that may be filed in a month.
            0.5 is one every second month.

    Raises:
        ValueError: a number is not above zero and finite. The message is one sentence.
    """
    for name, value in (
        ("series", series),
        ("nights", nights),
        ("wrong_issues_per_month", wrong_issues_per_month),
    ):
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"{name} must be a number above 0, not {value}")
    # Two divisions: the product of two huge numbers may overflow.
    rate = 1000.0 * (wrong_issues_per_month / series / nights)
    if rate == 0.0:
        raise ValueError(
            f"a budget of {wrong_issues_per_month} wrong issues a month is impossible with "
            f"{series} series and {nights} nights a month"
        )
    return min(rate, MOST)
