"""Experiments on disk: a folder each, with the question and the outcome."""

from __future__ import annotations

from pathlib import Path

from pipeline.experiments.interleaved import Pair, Question
from pipeline.files.atomic_write import write_atomically
from pipeline.files.json_file import read_json
from pipeline.model import Cell, Frozen, digest
from pipeline.storage.bundle import EXPERIMENTS

SPEC = "spec.json"
"""The file with the question, in the experiment's folder."""


class Experiment(Frozen):
    """The question and the reason of an experiment, as stored in ``spec.json``."""

    kind: str
    base: Cell
    head: Cell
    question: Question

    @property
    def name(self) -> str:
        """Return its folder's name. Questions about the same cells share the folder's runs."""
        return f"{self.kind}-{digest([self.base.key, self.head.key])[:12]}"

    @property
    def pair(self) -> Pair:
        """Return the cells to measure."""
        return Pair(base=self.base, head=self.head)

    def place(self, results: Path) -> Path:
        """Return the path of its folder, which may not exist."""
        return results / EXPERIMENTS / self.name

    def folder(self, results: Path) -> Path:
        """Return its folder with ``spec.json`` in it; create the folder if it is missing."""
        folder = self.place(results)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / SPEC, self.model_dump_json(indent=1))
        return folder


def load_experiment(folder: Path) -> Experiment | None:
    """Load the experiment of a folder; None if it is missing or unreadable."""
    return read_json(folder / SPEC, Experiment.model_validate_json)


EXPLAINING = "explain-"
"""Prefix of the folders in which changed settings of a regression are tested."""

LAYING_OUT = "layout-"
"""Prefix of the folders in which both sides of a regression are run in other layouts."""

ASIDE = "aside"
"""The folder, beside the other experiments, for experiments that were set aside."""


def archive_experiment(experiment: Experiment, results: Path) -> None:
    """Move the experiment's folder, if there is one, so that everything is measured again.

    It moves one level down, out of reach of the code that reads outcomes.
    """
    folder = experiment.place(results)
    if folder.exists():
        kept = folder.parent / ASIDE
        kept.mkdir(exist_ok=True)
        number = 1
        while (place := kept / f"{folder.name}.{number}").exists():
            number += 1
        folder.rename(place)
