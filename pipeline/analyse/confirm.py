"""Confirm: a suspected regression is measured again, before anybody is told.

The last good and the first bad revision are measured in blocks with a control
(:mod:`pipeline.analyse.interleaved`), only in the steps at stake, on this machine, now.
"""

from __future__ import annotations

from typing import Literal

from pipeline.analyse.interleaved import Answer

Verdict = Literal["confirmed", "rejected", "undecided", "environment"]
"""What became of a suspicion.

``environment``: the control moved, so that the machine changed and not (only) the DBMS."""


def verdict_of(answer: Answer) -> Verdict:
    """Return the verdict on a regression from the rows of its figures.

    One figure that is surely worse confirms it; to reject it, all must be excluded.
    """
    verdicts = {row.verdict for row in answer.rows}
    if answer.moved:
        return "environment"
    if verdicts & {"worse", "failed"}:
        return "confirmed"
    return "undecided" if "undecided" in verdicts else "rejected"
