"""Delete old samples, old bundles and leftover files on which no result depends."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from pipeline.files.atomic_write import PARTIAL, sync_folder
from pipeline.files.checksum import sha256
from pipeline.measure.plan import Plan
from pipeline.measure.progress import Watcher, counting
from pipeline.model import RegressionState
from pipeline.regressions.states import KnownRegression
from pipeline.storage.bundle import (
    BUNDLES,
    EXPERIMENTS,
    BundleError,
    bundle_path,
    list_all,
    list_bundles,
    read_manifest,
)
from pipeline.storage.condensed import (
    condense,
    condensed_path,
    condensed_steps,
    dump_steps,
    is_condensed,
)
from pipeline.storage.ingest import check_bundle
from pipeline.storage.journal import now
from pipeline.storage.retention import StoredRun, limit_of, stored_runs
from pipeline.storage.write import Writer
from pipeline.text.errors import UserError
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.measuring import MeasuringContext

_DAY = 86_400.0


class PruneRequest(NamedTuple):
    """After how many days samples and bundles are deleted; 0 means never.

    The newest ``nights`` keep everything, whatever their age.
    """

    samples: int = 0
    bundles: int = 0
    nights: int = 0


class PruneAction(StrEnum):
    """Which part of a bundle is deleted: its samples, or the whole bundle."""

    CONDENSE = "condense"
    DELETE = "delete"


class Pruning(NamedTuple):
    """One file or folder to delete or shrink."""

    action: PruneAction
    path: Path
    bytes: int
    run_id: str = ""


def prunable(context: MeasuringContext, request: PruneRequest) -> list[Pruning]:
    """Return what would be deleted, without deleting anything.

    The evidence of a regression stays: the runs of its revisions, and the experiments that
    confirmed or bisected it. So do bundles that a night would measure again. Raises UserError for a
    request that gives no age.
    """
    if not (request.samples or request.bundles):
        raise UserError("no age is given: set --samples DAYS, --bundles DAYS or both")
    at = now()
    known = [
        one
        for one in context.regressions.known(at).values()
        if one.state is not RegressionState.REJECTED
    ]
    runs = stored_runs(context.store)
    found: list[Pruning] = []
    if request.bundles:
        limit = limit_of(runs, at, request.bundles, request.nights)
        found += _bundles(context, runs, known, limit)
        found += _experiments(context.results, known, limit)
        found += _leftovers(context.results, limit)
    if request.samples:
        limit = limit_of(runs, at, request.samples, request.nights)
        gone = {each.run_id for each in found}
        found += _samples(context, [one for one in runs if one.run_id not in gone], known, limit)
    return found


@logged("prune")
def prune(context: MeasuringContext, found: list[Pruning], watcher: Watcher) -> int:
    """Delete the files that :func:`prunable` found; return how many bytes became free.

    Raises UserError while another process measures on this machine.
    """
    free = 0
    with (
        context.workspace.held(),
        counting(watcher, "prune", len(found)) as progress,
        context.store.connect() as connection,
    ):
        context.regressions.record_pending(now())
        writer = Writer(connection)
        for each in found:
            free += _prune(each, writer)
            progress()
    return free


def _prune(each: Pruning, writer: Writer) -> int:
    path = each.path
    if each.action is PruneAction.CONDENSE:
        bundle, settings, steps = check_bundle(path)
        small = condensed_path(path)
        condense(bundle, steps, small)
        reported = list(condensed_steps(bundle.manifest.steps, dump_steps(steps)))
        # The file comes last: a kill in between leaves a whole bundle, which is condensed again.
        writer.replace(replace(bundle, sha256=sha256(small)), settings, reported)
        size = small.stat().st_size
        small.replace(path)
        sync_folder(path.parent)
        return each.bytes - size
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    sync_folder(path.parent)
    if each.run_id:
        writer.remove(each.run_id)
    return each.bytes


def _rests_on(known: list[KnownRegression], run: StoredRun) -> bool:
    """Whether a regression depends on the revision of a run."""
    return any(
        one.regression.target == run.target and run.revision in _revisions(one) for one in known
    )


def _revisions(known: KnownRegression) -> set[str]:
    regression, culprit = known.regression, known.regression.culprit
    named = {regression.last_good, regression.first_bad, *known.bounds}
    named |= {label for shift in regression.shifts for label in (shift.last_good, shift.first_bad)}
    return named | ({culprit.revision, culprit.parent} if culprit is not None else set())


def _bundles(
    context: MeasuringContext, runs: list[StoredRun], known: list[KnownRegression], limit: datetime
) -> Iterator[Pruning]:
    """Yield the bundles of old runs, unless a night would measure these again."""
    wanted = _measured_again(context.plan())
    for run in runs:
        path = bundle_path(context.bundles, run.run_id)
        old = run.started_at < limit and run.control is None and run.cell_key not in wanted
        if old and not _rests_on(known, run):
            yield Pruning(PruneAction.DELETE, path, _size(path), run.run_id)
    counted = set(list_bundles(context.bundles))
    for path in list_all(context.bundles):
        if path not in counted and _changed(path) < limit:
            yield Pruning(PruneAction.DELETE, path, _size(path))


def _measured_again(plan: Plan) -> set[str]:
    """Return which cells a night would measure if they had no run.

    Cells of revisions that a line keeps only because they were measured are not included.
    """
    return {
        cell.key
        for line in plan.lines
        for cell in line.cells
        if cell.revision.label not in line.kept
    }


def _samples(
    context: MeasuringContext, runs: list[StoredRun], known: list[KnownRegression], limit: datetime
) -> Iterator[Pruning]:
    """Yield old bundles that still contain their samples."""
    for run in runs:
        path = bundle_path(context.bundles, run.run_id)
        if run.started_at >= limit or _rests_on(known, run):
            continue
        try:
            condensed = is_condensed(read_manifest(path).files)
        except BundleError:
            # Ingest reports damage.
            continue
        if not condensed:
            yield Pruning(PruneAction.CONDENSE, path, _size(path), run.run_id)


def _experiments(results: Path, known: list[KnownRegression], limit: datetime) -> Iterator[Pruning]:
    """Yield old experiments on which no regression depends."""
    named = {event.experiment for one in known for event in one.events}
    for folder in sorted((results / EXPERIMENTS).glob("*")):
        if folder.is_dir() and folder.name not in named:
            files = [path for path in folder.rglob("*") if path.is_file()]
            if all(_changed(path) < limit for path in files):
                yield Pruning(PruneAction.DELETE, folder, sum(map(_size, files)))


def _leftovers(results: Path, limit: datetime) -> Iterator[Pruning]:
    """Yield files that no process writes any more, and leftovers of killed processes."""
    for path in sorted((results / "tables").glob("*")):
        if path.is_file() and _changed(path) < limit:
            yield Pruning(PruneAction.DELETE, path, _size(path))
    for folder in (results, results / BUNDLES, results / "derived", results / "tables"):
        for path in sorted(folder.glob(f".*{PARTIAL}")):
            if _changed(path) < min(limit, now() - timedelta(seconds=_DAY)):
                yield Pruning(PruneAction.DELETE, path, _size(path))


def _changed(path: Path) -> datetime:
    return datetime.fromtimestamp(path.lstat().st_mtime, tz=now().tzinfo)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0
