"""The explanation of a regression, as it is kept: its steps, worst first, each with its reasons.

Reading it needs nothing of what making it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from pipeline.analyse.explain.classify import Finding, Kind
from pipeline.analyse.explain.figures import FigureChange
from pipeline.analyse.explain.functions import FunctionChange
from pipeline.analyse.explain.plans import PlanChange
from pipeline.analyse.explain.settings import Difference, Suspect
from pipeline.analyse.explain.trial import Trial
from pipeline.durable import write_whole
from pipeline.model import Frozen, Regression


class StepExplanation(Frozen):
    """Why one step is slower in one setup; the first finding is its class.

    With ``again`` its figures are of the runs that were made to confirm the regression.
    ``pictures`` are the files of its flame graphs, beside the explanation: before, after, and the
    difference.
    """

    step: str
    setup: str
    findings: tuple[Finding, ...]
    figures: tuple[FigureChange, ...]
    plans: tuple[PlanChange, ...]
    functions: tuple[FunctionChange, ...]
    again: bool = False
    pictures: tuple[str, ...] = ()


class Explanation(Frozen):
    """Why a regression is one. ``kind`` is the class of its worst step.

    ``settings`` are those of the worst step's setup, ``suspects`` the changed ones that can be
    tested, and ``trials`` what was tested.
    """

    fingerprint: str
    line: str
    target: str
    last_good: str
    first_bad: str
    kind: Kind
    steps: tuple[StepExplanation, ...]
    settings: Difference
    suspects: tuple[Suspect, ...]
    trials: tuple[Trial, ...]


class Explained(NamedTuple):
    """An explanation, and the flame graphs of its steps by the names of their files."""

    explanation: Explanation
    pictures: dict[str, str]


def explained_folder(fingerprint: str, results: Path) -> Path:
    """Return where the explanation of a regression is, or would be."""
    return results / "explained" / fingerprint


def save_explained(explained: Explained, results: Path) -> Path:
    """Keep an explanation and its flame graphs in results/explained/FINGERPRINT."""
    folder = explained_folder(explained.explanation.fingerprint, results)
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in explained.pictures.items():
        (folder / name).write_text(picture, encoding="utf-8")
    return write_whole(folder / _EXPLANATION_FILE, explained.explanation.model_dump_json(indent=1))


def class_of(regression: Regression, results: Path) -> str:
    """Return the class of a regression, as it was explained last; nothing where it was not."""
    known = last_explanation(regression, results)
    return known.kind.value if known is not None else ""


def last_explanation(regression: Regression, results: Path) -> Explanation | None:
    """Return the last explanation of a regression.

    None where it was not explained yet, or between other revisions than it is known by now.
    """
    path = explained_folder(regression.fingerprint, results) / _EXPLANATION_FILE
    try:
        known = Explanation.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    same = (known.last_good, known.first_bad) == (regression.last_good, regression.first_bad)
    return known if same else None


def save_trials(trials: Sequence[Trial], folder: Path) -> Path:
    """Keep what was tested in the folder of its experiment."""
    folder.mkdir(parents=True, exist_ok=True)
    return write_whole(folder / _TRIALS_FILE, _TRIALS.dump_json(tuple(trials), indent=1).decode())


def load_trials(folder: Path) -> tuple[Trial, ...]:
    """Return what was tested; nothing where that was not, or cannot be read."""
    try:
        return _TRIALS.validate_json((folder / _TRIALS_FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return ()


_EXPLANATION_FILE = "explanation.json"
_TRIALS_FILE = "trials.json"
_TRIALS = TypeAdapter(tuple[Trial, ...])
