"""All that was recorded on one side of a change, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from statistics import fmean

from pipeline.experiments.interleaved import Pair
from pipeline.explain.figures import ACTIVITY
from pipeline.model import Cell, StepStatus
from pipeline.profiles.folded import load_folded
from pipeline.storage.bundle import Bundle, BundleError, bundle_path
from pipeline.storage.derive.background import SLA_METRICS
from pipeline.storage.ingest import check_bundle
from pipeline.storage.write import Settings, StepValues
from pipeline.workloads.base.plans import PLANS_MEMBER, read_plans


@dataclass
class StepSide:
    """One step on one side of a change: the values of each figure in all runs.

    ``missed`` lists the rates not sustained by runs that failed their SLA.
    """

    values: dict[str, list[float]] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)
    stacks: Counter[str] = field(default_factory=Counter)
    plans: Mapping[str, str] = field(default_factory=dict)


Checked = tuple[Bundle, Settings | None, list[StepValues]]
"""A bundle with its server's settings and its steps, all of which were readable."""


@dataclass
class RevisionSamples:
    """All that the runs of one revision recorded. Settings and plans are of the first run."""

    revision: str
    runs: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    steps: dict[str, StepSide] = field(default_factory=dict)


def side_of(revision: str, bundles: Iterable[Checked]) -> RevisionSamples:
    """Collect what was recorded on one side of a change, from the bundles of a cell."""
    side = RevisionSamples(revision)
    for bundle, settings, steps in bundles:
        side.runs += 1
        side.settings = side.settings or settings or {}
        folders = {record.step.name: record.folder for record in bundle.manifest.steps}
        for reported in steps:
            step = side.steps.setdefault(reported.step.name, StepSide())
            if reported.status is StepStatus.SLA_FAILED:
                step.missed.append(reported.note)
            usable = reported.status is StepStatus.OK
            values = dict(reported.values) | {
                f"{ACTIVITY}{name}": fmean(value for _, value in points)
                for name, points in reported.activity.items()
                if points
            }
            for name, value in values.items():
                # A step that failed its SLA has figures of another load.
                if usable or name in SLA_METRICS:
                    step.values.setdefault(name, []).append(value)
            profile = bundle.files.get(f"{folders[reported.step.name]}/profile.folded", b"")
            with suppress(ValueError):
                step.stacks.update(load_folded(profile.decode(errors="replace")))
        plans_text = bundle.files.get(PLANS_MEMBER, b"").decode(errors="replace")
        for name, plans in read_plans(plans_text).items():
            step = side.steps.setdefault(name, StepSide())
            step.plans = step.plans or plans
    return side


def pair_samples(bundles: Path, pair: Pair) -> tuple[RevisionSamples, RevisionSamples]:
    """Collect what the runs of a comparison recorded on both sides; base includes the control."""
    base = chain(_attempts(bundles, pair.base), _attempts(bundles, pair.control))
    before = side_of(pair.base.revision.label, base)
    return before, side_of(pair.head.revision.label, _attempts(bundles, pair.head))


def _attempts(bundles: Path, cell: Cell) -> Iterator[Checked]:
    for attempt in count(1):
        path = bundle_path(bundles, cell.run_id(attempt))
        if not path.exists():
            return
        try:
            yield check_bundle(path)
        except BundleError:
            # The next attempt of the experiment repeats this run.
            continue


def read_side(folder: Path, cell: Cell, repetitions: int) -> RevisionSamples:
    """Collect what the runs of a cell recorded, from a folder; skip damaged bundles.

    Profiles also come from profiling runs of the same cell (``nightshift run --profile``). The
    figures of such runs are ignored, because profiling has overhead.
    """
    side = side_of(cell.revision.label, _bundles(folder, cell, repetitions))
    if not cell.workload.profile:
        workload = cell.workload.model_copy(update={"profile": True})
        profiled = cell.model_copy(update={"workload": workload})
        recorded = side_of(cell.revision.label, _bundles(folder, profiled, repetitions))
        for name, step in recorded.steps.items():
            if name in side.steps:
                side.steps[name].stacks.update(step.stacks)
    return side


def _bundles(folder: Path, cell: Cell, repetitions: int) -> Iterator[Checked]:
    for repetition in range(1, repetitions + 1):
        path = bundle_path(folder, cell.run_id(repetition))
        if path.exists():
            try:
                yield check_bundle(path)
            except BundleError:
                # Ingest reports damage, and the next night repeats the run.
                continue
