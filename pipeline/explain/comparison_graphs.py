"""Flame graphs of the difference between the two sides of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.experiments.interleaved import Pair
from pipeline.explain.call_tree import CallFrame, call_tree
from pipeline.explain.samples import pair_samples
from pipeline.model import Mode, StepCounts
from pipeline.profiles.flame_graph import difference_graph
from pipeline.storage.bundle import bundle_path
from pipeline.storage.ingest import counts_of


class StepStacks(NamedTuple):
    """The folded stacks of one step on both sides.

    ``cost`` is the cost of an operation in base, divided by that in head.
    """

    base: Mapping[str, int]
    head: Mapping[str, int]
    cost: float = 1.0


def comparison_graphs(pair: Pair, bundles: Path) -> dict[str, str]:
    """Return the differential flame graph of each step of a comparison, as SVG.

    Counted runs give a graph of each step with symbols, timed runs of each step that was profiled.
    ``bundles`` is the folder with the comparison's runs.
    """
    sides = f"{pair.base.revision.label} -> {pair.head.revision.label}"
    found = _counted(pair, bundles) if pair.mode is Mode.COUNT else _timed(pair, bundles)
    return {
        step: difference_graph(stacks.base, stacks.head, f"{sides}, {step}", stacks.cost)
        for step, stacks in found.items()
        if sum(stacks.base.values()) and sum(stacks.head.values())
    }


def _counted(pair: Pair, bundles: Path) -> dict[str, StepStacks]:
    base, head = (
        counts_of(bundle_path(bundles, cell.run_id(1))) for cell in (pair.base, pair.head)
    )
    return {step: counted_stacks(base[step], head[step]) for step in base if step in head}


def _timed(pair: Pair, bundles: Path) -> dict[str, StepStacks]:
    base, head = (side.steps for side in pair_samples(bundles, pair))
    return {step: StepStacks(base[step].stacks, head[step].stacks) for step in base if step in head}


def counted_stacks(base: StepCounts, head: StepCounts) -> StepStacks:
    """Return the instructions per operation of two counted runs as folded stacks."""
    frames = call_tree(base, head)
    before = _folded(frames, [frame.before for frame in frames])
    after = _folded(frames, [frame.after for frame in frames])
    return StepStacks(before, after, base.instructions / head.instructions)


def _folded(frames: Sequence[CallFrame], costs: Iterable[float]) -> dict[str, int]:
    """Return the frames as folded stacks, each with its cost minus that of the frames below it."""
    own = list(costs)
    for frame, cost in zip(frames, list(own), strict=True):
        if frame.parent >= 0:
            own[frame.parent] -= cost
    paths: list[str] = []
    stacks: dict[str, int] = {}
    for frame, cost in zip(frames, own, strict=True):
        caller = paths[frame.parent] if frame.parent >= 0 else ""
        name = frame.function.replace(";", ":")
        paths.append(f"{caller};{name}" if caller else name)
        if paths[-1] and cost >= 1.0:
            stacks[paths[-1]] = stacks.get(paths[-1], 0) + round(cost)
    return stacks
