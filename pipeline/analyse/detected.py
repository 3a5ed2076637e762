"""What a detection found, as it is kept in the results folder.

Reading it needs nothing of what the search needs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from pipeline.durable import write_whole
from pipeline.errors import UserError
from pipeline.model import Frozen, Regression, Shift

if TYPE_CHECKING:
    from pipeline.execute.plan import Plan

FILE = "detected.json"
"""Its name in the results folder."""


class Excused(Frozen):
    """A shift that is not told as a regression, as a machine's own change may be all it is."""

    machine: str
    shift: Shift


class Detected(Frozen):
    """What the last detection found, worst first, and in how many series it looked.

    ``plan`` is the identity of the plan it looked at. ``excused`` are shifts that are part of no
    regression, as a machine changed then and may be all there is to them.
    """

    plan: str
    series: int
    regressions: tuple[Regression, ...]
    excused: tuple[Excused, ...] = ()


def save_detected(detected: Detected, results: Path) -> Path:
    """Keep what was found for the stages after."""
    results.mkdir(parents=True, exist_ok=True)
    return write_whole(results / FILE, detected.model_dump_json(indent=1))


def kept_detection(results: Path) -> Detected | None:
    """Return what the last detection found, of whatever plan; None if there was none.

    Raises UserError when the file is damaged.
    """
    path = results / FILE
    try:
        return Detected.model_validate_json(path.read_text())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise UserError(f"{path} is damaged; run `nightshift detect` again") from error


def load_detected(results: Path, plan: Plan) -> Detected:
    """Return what the last detection found. Raises UserError when it was not of this plan."""
    path = results / FILE
    detected = kept_detection(results)
    if detected is None:
        raise UserError(
            f"nothing was searched for changes in {results} yet; run `nightshift detect`"
        )
    if detected.plan != plan.hash:
        raise UserError(
            f"what {path} holds is of another plan; run `nightshift detect` (with --quick, if "
            "that was meant) first"
        )
    return detected
