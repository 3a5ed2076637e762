"""Explanations of regressions on disk: for each slower step, the reasons.

Reading an explanation does not import :mod:`pipeline.explain.explain`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from pipeline.explain.classify import Reason, SlowdownClass
from pipeline.explain.counted_change import CountedChange
from pipeline.explain.figures import FigureChange
from pipeline.explain.functions import FunctionChange
from pipeline.explain.layout_trial import LayoutTrial
from pipeline.explain.plans import PlanChange
from pipeline.explain.settings import SettingDifferences, Suspect
from pipeline.explain.trial import Trial
from pipeline.files.atomic_write import write_atomically
from pipeline.files.json_file import read_json
from pipeline.model import Frozen, Regression


class StepExplanation(Frozen):
    """Why one step is slower; the first reason is the most credible one.

    ``again`` says whether the figures are from the runs that confirmed the regression, instead of
    those of the nights. ``pictures`` are the files of its flame graphs, beside the explanation:
    before, after, and difference.
    """

    step: str
    setup: str
    findings: tuple[Reason, ...]
    figures: tuple[FigureChange, ...]
    plans: tuple[PlanChange, ...]
    functions: tuple[FunctionChange, ...]
    counted: CountedChange | None = None
    again: bool = False
    pictures: tuple[str, ...] = ()


class Explanation(Frozen):
    """Why a regression is slower, step by step; ``kind`` is the reason of the worst step.

    ``settings`` are the differing settings in the setup of the worst step, ``suspects`` the changed
    ones that can be tested, and ``trials`` the results of the tests.
    """

    fingerprint: str
    line: str
    target: str
    last_good: str
    first_bad: str
    kind: SlowdownClass
    steps: tuple[StepExplanation, ...]
    settings: SettingDifferences
    suspects: tuple[Suspect, ...]
    trials: tuple[Trial, ...]

    @property
    def unproven(self) -> bool:
        """Whether all steps are slower at equal instructions, so code may not be the cause."""
        unproven = (SlowdownClass.LAYOUT, SlowdownClass.EQUAL_INSTRUCTIONS)
        return all(step.findings[0].kind in unproven for step in self.steps)


class Explained(NamedTuple):
    """An explanation with its flame graphs."""

    explanation: Explanation
    pictures: dict[str, str]


def explained_folder(fingerprint: str, results: Path) -> Path:
    """Return the folder for the explanation of a regression, which may not exist."""
    return results / "explained" / fingerprint


def save_explained(explained: Explained, results: Path) -> Path:
    """Save an explanation with its flame graphs in results/explained/FINGERPRINT."""
    folder = explained_folder(explained.explanation.fingerprint, results)
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in explained.pictures.items():
        (folder / name).write_text(picture, encoding="utf-8")
    return write_atomically(
        folder / _EXPLANATION_FILE, explained.explanation.model_dump_json(indent=1)
    )


def class_of(regression: Regression, results: Path) -> str:
    """Return why a regression is slower in one word, if it was explained; else ""."""
    known = last_explanation(regression, results)
    return known.kind.value if known is not None else ""


def last_explanation(regression: Regression, results: Path) -> Explanation | None:
    """Return the last explanation of a regression; None without a current one.

    An explanation is current if it is about the regression's present last good and first bad
    revision.
    """
    path = explained_folder(regression.fingerprint, results) / _EXPLANATION_FILE
    known = read_json(path, Explanation.model_validate_json)
    if known is None:
        return None
    same = (known.last_good, known.first_bad) == (regression.last_good, regression.first_bad)
    return known if same else None


def save_trials(trials: Sequence[Trial], folder: Path) -> Path:
    """Save the results of trials with old settings in the folder of their experiment."""
    folder.mkdir(parents=True, exist_ok=True)
    return write_atomically(
        folder / _TRIALS_FILE, _TRIALS.dump_json(tuple(trials), indent=1).decode()
    )


def load_trials(folder: Path) -> tuple[Trial, ...]:
    """Load the results of trials with old settings; empty if there are none."""
    return read_json(folder / _TRIALS_FILE, _TRIALS.validate_json) or ()


def save_layout_trial(trial: LayoutTrial, folder: Path) -> Path:
    """Save a layout trial in the folder of its experiment."""
    folder.mkdir(parents=True, exist_ok=True)
    return write_atomically(folder / _LAYOUT_FILE, trial.model_dump_json(indent=1))


def load_layout_trial(regression: Regression, folder: Path) -> LayoutTrial | None:
    """Load the layout trial of a regression; None if there is none between its revisions."""
    known = read_json(folder / _LAYOUT_FILE, LayoutTrial.model_validate_json)
    if known is None:
        return None
    same = (known.last_good, known.first_bad) == (regression.last_good, regression.first_bad)
    return known if same else None


_LAYOUT_FILE = "layout.json"
_EXPLANATION_FILE = "explanation.json"
_TRIALS_FILE = "trials.json"
_TRIALS = TypeAdapter(tuple[Trial, ...])
