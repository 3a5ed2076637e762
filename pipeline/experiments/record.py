"""Experiments on disk: a folder for each, with its question, its bundles and its outcome."""

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
    """What an experiment asks and why, as its file ``spec.json`` stores it."""

    kind: str
    base: Cell
    head: Cell
    question: Question

    @property
    def name(self) -> str:
        """The name of the experiment's folder; questions about the same cells share it."""
        return f"{self.kind}-{digest([self.base.key, self.head.key])[:12]}"

    @property
    def pair(self) -> Pair:
        """The two cells that the experiment measures."""
        return Pair(base=self.base, head=self.head)

    def place(self, results: Path) -> Path:
        """Return the path of the experiment's folder, which may not exist yet."""
        return results / EXPERIMENTS / self.name

    def folder(self, results: Path) -> Path:
        """Return the experiment's folder, created with its ``spec.json`` if it is missing."""
        folder = self.place(results)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / SPEC, self.model_dump_json(indent=1))
        return folder


def load_experiment(folder: Path) -> Experiment | None:
    """Load the experiment of a folder; None if its file is missing or unreadable."""
    return read_json(folder / SPEC, Experiment.model_validate_json)


EXPLAINING = "explain-"
"""Prefix of the folders in which changed settings of a regression are tested."""

LAYING_OUT = "layout-"
"""Prefix of the folders in which both sides of a regression are run in other layouts."""

ASIDE = "aside"
"""The folder of archived experiments, beside the other experiments."""


def archive_experiment(experiment: Experiment, results: Path) -> None:
    """Archive the folder of an experiment, so that everything is measured again.

    The folder moves one level down, into ``ASIDE``, where no code looks for outcomes.
    """
    folder = experiment.place(results)
    if folder.exists():
        kept = folder.parent / ASIDE
        kept.mkdir(exist_ok=True)
        number = 1
        while (place := kept / f"{folder.name}.{number}").exists():
            number += 1
        folder.rename(place)
