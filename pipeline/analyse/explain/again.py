"""What was measured to confirm a regression: more runs of both sides, in turns, on one machine.

They are better evidence of why it is slower than those of the nights, which may be one of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

from pipeline.analyse.confirm import outcome_in
from pipeline.analyse.explain.sides import Side, side_of
from pipeline.analyse.record import load_experiment
from pipeline.bundle import BUNDLES, EXPERIMENTS, Bundle, BundleError, bundle_path, read_bundle
from pipeline.model import Cell


def measured_again(
    fingerprint: str, results: Path, cells: tuple[Cell, Cell]
) -> tuple[Side, Side] | None:
    """Return both sides as they were measured to confirm a regression, in some of its steps.

    ``cells`` are those of the nights. None where these were not measured again, or the machine
    moved while they were.
    """
    for folder in sorted((results / EXPERIMENTS).glob(f"confirm-{fingerprint}-*")):
        experiment, outcome = load_experiment(folder), outcome_in(folder)
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
    """Say whether two cells are the same but for the steps of their workload."""
    keys = {
        cell.model_copy(update={"workload": cell.workload.model_copy(update={"steps": ()})}).key
        for cell in (one, other)
    }
    return len(keys) == 1


def _runs(bundles: Path, cell: Cell) -> Iterator[Bundle]:
    for attempt in count(1):
        path = bundle_path(bundles, cell.run_id(attempt))
        if not path.exists():
            return
        try:
            yield read_bundle(path)
        except BundleError:
            # The next attempt to confirm measures it anew.
            continue
