"""Write runs that were measured elsewhere as bundles of an imported line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

from pipeline.model import (
    Build,
    Machine,
    Manifest,
    Origin,
    Provenance,
    Revision,
    Scale,
    ServerConfig,
    Step,
    StepRecord,
    StepStatus,
    Workload,
    digest,
)
from pipeline.storage.bundle import VALUES_MEMBER, bundle_path, read_bundle, write_bundle
from pipeline.text.errors import UserError

FAMILY = "published"
"""The name that imported results have as workload family, build options and configuration."""

BASE = "base"
"""The option of an imported workload that names the base revision of relative values."""

Order = tuple[int, ...]
"""The sort key of a revision on its line, as ``order`` of :class:`pipeline.model.Revision`."""


@dataclass(frozen=True)
class ImportedRun:
    """One imported run: a revision, its steps in order, and their values by step and metric.

    ``made`` is the time of the revision, ``measured_at`` that of the run, None if unknown.
    """

    revision: str
    target: str
    steps: tuple[Step, ...]
    values: Mapping[str, Mapping[str, float]]
    repetition: int = 1
    made: datetime | None = None
    measured_at: datetime | None = None


@dataclass(frozen=True)
class ImportedSetup:
    """The machine, workload and configuration of imported runs; empty where unknown.

    ``base`` is the base revision of relative values, ``source`` the origin of the results.
    """

    line: str
    workload: str
    machine_class: str
    hardware: str = ""
    config: str = ""
    source: str = ""
    title: str = ""
    base: str = ""


def write_imported(
    setup: ImportedSetup,
    runs: Sequence[ImportedRun],
    bundles: Path,
    at: datetime,
    known: Mapping[str, Order],
) -> list[Path]:
    """Write a bundle for each imported run; return the paths of the new ones.

    ``known`` has the sort keys of the revisions that are already on the line. New revisions get
    sort keys in the order of ``runs`` (:func:`orders_of`). ``at`` is the time of runs whose
    ``measured_at`` is unknown. A run that was already imported is skipped. Raises UserError if such
    a run was imported with other values.
    """
    labels = list(dict.fromkeys(run.revision for run in runs))
    orders = orders_of(labels, known)
    fresh: list[tuple[Manifest, bytes]] = []
    for place, run in enumerate(runs):
        # Seconds apart, so that the order of time is that of the runs.
        began = run.measured_at or at + timedelta(seconds=place)
        manifest = _manifest(setup, run, orders[run.revision], began)
        data = json.dumps(run.values, sort_keys=True).encode()
        path = bundle_path(bundles, manifest.run_id)
        if not path.exists():
            fresh.append((manifest, data))
        elif read_bundle(path).files.get(VALUES_MEMBER) != data:
            raise UserError(
                f"line {setup.line!r} was imported before with other values for {run.revision}; "
                "choose another name with --line"
            )
    return [write_bundle(bundles, manifest, {VALUES_MEMBER: data}) for manifest, data in fresh]


def orders_of(labels: Sequence[str], known: Mapping[str, Order]) -> dict[str, Order]:
    """Return the sort key of each imported label on its line; new labels sort next to known ones.

    A new label is sorted directly after the nearest known label before it in ``labels``. Without
    one it is sorted directly before the next known label, and without any known label at the end of
    the line.
    """
    found = {label: known[label] for label in labels if label in known}
    line = sorted(known.values())
    places = [place for place, label in enumerate(labels) if label in known]
    for begin, end in pairwise([-1, *places, len(labels)]):
        if begin >= 0:
            at = line.index(known[labels[begin]]) + 1
        else:
            at = line.index(known[labels[end]]) if end < len(labels) else len(line)
        fresh = labels[begin + 1 : end]
        found |= zip(fresh, _between(line[:at], line[at:], len(fresh)), strict=True)
    return found


def _between(before: Sequence[Order], after: Sequence[Order], count: int) -> list[Order]:
    """Return ``count`` sort keys after all of ``before`` and before all of ``after``."""
    if not after:
        start, stem = (before[-1][0] + 1 if before else 0), Order()
    elif not before:
        start, stem = after[0][0] - count, Order()
    else:
        stem, follower = before[-1], after[0]
        # An order that begins with another one comes after it.
        longer = len(follower) > len(stem) and follower[: len(stem)] == stem
        start = follower[len(stem)] - count if longer else 1
    return [(*stem, start + number) for number in range(count)]


def _manifest(setup: ImportedSetup, run: ImportedRun, order: Order, began: datetime) -> Manifest:
    workload = Workload(
        family=FAMILY,
        name=setup.workload,
        version="",
        scale=Scale(tables=0, rows=0, clients=0, measure=0, warmup=0),
        # None: a line whose runs differ in their steps has one workload.
        steps=(),
        options={BASE: setup.base} if setup.base else {},
    )
    line, label = setup.line, run.revision
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", f"{line}-{label}")
    again = f"-r{run.repetition}" if run.repetition > 1 else ""
    return Manifest(
        run_id=f"import-{safe}-{digest([line, label])[:8]}{again}",
        origin=Origin.IMPORTED,
        revision=Revision(target=run.target, version=label, order=order, major="", at=run.made),
        build=Build(
            target=run.target,
            version=label,
            options=FAMILY,
            hash=digest([line, label]),
            provenance=Provenance(source=FAMILY, locator=setup.source, sha256="", options=FAMILY),
        ),
        config=ServerConfig(family=FAMILY, name="", text=setup.config),
        machine=Machine(
            machine_class=setup.machine_class or "unknown",
            hostname="",
            cpu_model=setup.hardware,
            cores=0,
            memory_bytes=0,
            kernel="",
            operating_system="",
            virtualised="",
            storage="",
        ),
        workload=workload,
        cell_key=digest([line, label, workload.hash]),
        repetition=run.repetition,
        started_at=began,
        ended_at=began,
        steps=tuple(
            StepRecord(
                step=step,
                status=StepStatus.OK if run.values[step.name] else StepStatus.FAILED,
                started_at=began,
                wall_seconds=0,
                command=(),
                folder="",
                note="" if run.values[step.name] else "no value was published",
            )
            for step in run.steps
        ),
        line=line,
        notes=setup.title,
    )
