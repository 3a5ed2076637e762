"""The runs that confirmed a regression: both sides in turn on one machine.

They are better evidence than the runs of the nights, of which a revision may have only one.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from pipeline.experiments.confirm import outcome_in
from pipeline.experiments.record import load_experiment
from pipeline.experiments.timed_confirmation import TIMED, timed_outcome_in
from pipeline.explain.samples import RevisionSamples, pair_samples
from pipeline.model import Cell
from pipeline.storage.bundle import BUNDLES, EXPERIMENTS


def confirmation_samples(
    fingerprint: str, results: Path, cells: tuple[Cell, Cell]
) -> tuple[RevisionSamples, RevisionSamples] | None:
    """Return what the confirming runs recorded on both sides of a regression.

    ``cells`` are the cells that the nights measured, before and after. The result has only the
    steps that were measured again. It is None if the cells were not measured again, or if the
    machine changed meanwhile.
    """
    place = results / EXPERIMENTS
    for folder in sorted(
        chain(place.glob(f"confirm-{fingerprint}-*"), place.glob(f"{TIMED}{fingerprint}-*"))
    ):
        experiment = load_experiment(folder)
        outcome = timed_outcome_in(folder) if folder.name.startswith(TIMED) else outcome_in(folder)
        if experiment is None:
            continue
        measured = (experiment.base, experiment.head)
        same = all(_alike(one, other) for one, other in zip(measured, cells, strict=True))
        if not same or outcome is None or outcome.verdict == "environment":
            continue
        before, after = pair_samples(folder / BUNDLES, experiment.pair)
        if before.runs and after.runs:
            return before, after
    return None


def _alike(one: Cell, other: Cell) -> bool:
    """Whether two cells differ at most in the steps of their workload."""
    keys = {
        cell.model_copy(update={"workload": cell.workload.model_copy(update={"steps": ()})}).key
        for cell in (one, other)
    }
    return len(keys) == 1
