"""The runs that confirmed a regression: both sides in turn on one machine.

They are better evidence than the runs of the nights, which may be a single one per revision.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

from pipeline.experiments.confirm import outcome_in
from pipeline.experiments.record import load_experiment
from pipeline.experiments.timed_confirmation import TIMED, timed_outcome_in
from pipeline.explain.samples import Checked, RevisionSamples, side_of
from pipeline.model import Cell
from pipeline.storage.bundle import BUNDLES, EXPERIMENTS, BundleError, bundle_path
from pipeline.storage.ingest import check_bundle


def confirmation_samples(
    fingerprint: str, results: Path, cells: tuple[Cell, Cell]
) -> tuple[RevisionSamples, RevisionSamples] | None:
    """Return the records of the confirming runs on both sides of a regression.

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
        bundles, pair = folder / BUNDLES, experiment.pair
        before = side_of(
            pair.base.revision.label, chain(_runs(bundles, pair.base), _runs(bundles, pair.control))
        )
        after = side_of(pair.head.revision.label, _runs(bundles, pair.head))
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


def _runs(bundles: Path, cell: Cell) -> Iterator[Checked]:
    for attempt in count(1):
        path = bundle_path(bundles, cell.run_id(attempt))
        if not path.exists():
            return
        try:
            yield check_bundle(path)
        except BundleError:
            # The next attempt to confirm repeats this run.
            continue
