"""Experiments as they are kept: a folder for each, with what was asked and what came of it."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from pipeline.analyse.interleaved import Pair, Question
from pipeline.bundle import EXPERIMENTS
from pipeline.durable import write_whole
from pipeline.model import Cell, Frozen, digest

SPEC = "spec.json"
"""What was asked, in the folder of an experiment."""


class Experiment(Frozen):
    """What an experiment measures and why, as ``spec.json`` in its folder keeps it."""

    kind: str
    base: Cell
    head: Cell
    question: Question

    @property
    def name(self) -> str:
        """Return its folder's name. Other questions of the same cells share their runs."""
        return f"{self.kind}-{digest([self.base.key, self.head.key])[:12]}"

    @property
    def pair(self) -> Pair:
        """Return the cells as they are measured."""
        return Pair(base=self.base, head=self.head)

    def place(self, results: Path) -> Path:
        """Return where its folder is, or would be."""
        return results / EXPERIMENTS / self.name

    def folder(self, results: Path) -> Path:
        """Return its folder with ``spec.json`` in it, made if it is not there yet."""
        folder = self.place(results)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / SPEC, self.model_dump_json(indent=1))
        return folder


def load_experiment(folder: Path) -> Experiment | None:
    """Return the experiment of a folder; None if that is gone or cannot be read."""
    try:
        return Experiment.model_validate_json((folder / SPEC).read_text())
    except (FileNotFoundError, ValidationError):
        return None


ASIDE = "aside"
"""The folder of the experiments that were set aside, beside the others."""


def aside(experiment: Experiment, results: Path) -> None:
    """Move the folder of an experiment, if there is one, so that all is measured anew.

    It goes one level down, where nobody looks for the outcomes of experiments.
    """
    folder = experiment.place(results)
    if folder.exists():
        kept = folder.parent / ASIDE
        kept.mkdir(exist_ok=True)
        number = 1
        while (place := kept / f"{folder.name}.{number}").exists():
            number += 1
        folder.rename(place)
