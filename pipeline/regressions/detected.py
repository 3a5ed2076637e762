"""The file with the last detection: the evidence for each regression, without its state.

Reading the file needs none of the modules that the search needs. Callers that need states use the
regression repository.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.files.atomic_write import write_atomically
from pipeline.files.json_file import read_json
from pipeline.model import Excused, Frozen, Regression
from pipeline.text.errors import UserError
from pipeline.text.units import plural, show_percent

if TYPE_CHECKING:
    from pipeline.measure.plan import Plan

FILE = "detected.json"
"""The name of the file with the last detection, in the results folder."""

_OF_THE_JOURNAL = {"regressions": {"__all__": {"state", "recovers", "culprit"}}}
"""Fields that the file leaves out, because they come only from the journal."""


class NightQuality(Frozen):
    """How many timed runs a night measured, and how many of them something disturbed."""

    runs: int
    disturbed: int


class Detected(Frozen):
    """The result of the last detection: regressions, worst first, and the number of series.

    ``plan`` is the hash of the searched plan. ``excused`` are shifts that a machine change may
    fully explain; they belong to no regression. ``smallest`` is the smallest relative change that
    the newest revisions could show, in the median step; None if it is unknown or there is none.
    ``night`` is known if a night measured something before the detection.
    """

    plan: str
    series: int
    regressions: tuple[Regression, ...]
    excused: tuple[Excused, ...] = ()
    smallest: float | None = None
    night: NightQuality | None = None

    def reach(self) -> str:
        """Return in words what the night could have shown; empty if that is unknown."""
        parts = []
        if self.night is not None and self.night.disturbed:
            parts.append(f"{self.night.disturbed} of {plural(self.night.runs, 'run')} disturbed")
        if self.smallest is not None:
            parts.append(
                f"smallest change this night could show: {show_percent(self.smallest)} "
                "(median step)"
            )
        return "; ".join(parts)


def save_detected(detected: Detected, results: Path) -> Path:
    """Save the evidence for the detected regressions, for later stages of the night."""
    results.mkdir(parents=True, exist_ok=True)
    text = detected.model_dump_json(indent=1, exclude=_OF_THE_JOURNAL)
    return write_atomically(results / FILE, text)


def read_detection(results: Path) -> Detected | None:
    """Load the last detection, even of another plan; None if there is none.

    Raises UserError when the file is damaged.
    """
    again = "run `nightshift detect` again"
    return read_json(results / FILE, Detected.model_validate_json, again)


def read_detection_of(results: Path, plan: Plan) -> Detected:
    """Load the last detection. Raises UserError if it is of another plan."""
    path = results / FILE
    detected = read_detection(results)
    if detected is None:
        raise UserError(f"detection has not run on {results} yet; run `nightshift detect`")
    if detected.plan != plan.hash:
        raise UserError(
            f"{path} was written for another plan; run `nightshift detect` first (with --quick "
            "if the plan is the quick one)"
        )
    return detected
