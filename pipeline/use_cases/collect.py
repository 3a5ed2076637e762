"""Collect the results of other machines, each run once, and add them to the store."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.files.lock import held
from pipeline.measure.progress import Watcher
from pipeline.storage.bundle import EXPERIMENTS
from pipeline.storage.journal import now
from pipeline.text.errors import UserError
from pipeline.transfer.assignment import Assignment
from pipeline.transfer.batches import CLAIM, claimed
from pipeline.transfer.folder import SUMS
from pipeline.transfer.gather import gather
from pipeline.transfer.places import is_remote
from pipeline.transfer.results import Collected, collect
from pipeline.transfer.state import take_state
from pipeline.use_cases.assignments import BenchRequest, request_of
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.places import place_of
from pipeline.use_cases.verdicts import judge_experiments, set_aside_decided

_LOG = logging.getLogger(__name__)


@dataclass
class CollectedTotals:
    """What was collected from all places; ``wrong`` has a message for each unusable file.

    ``measurements`` is the number of measurements that were added to the store.
    """

    taken: list[Collected] = field(default_factory=list)
    known: int = 0
    measurements: int = 0
    wrong: list[str] = field(default_factory=list)


@logged("collect")
def collect_all(
    context: MeasuringContext, places: Sequence[str], watcher: Watcher
) -> CollectedTotals:
    """Collect results from places, and add them to the store.

    An error of one place does not stop the others. Raises UserError if no place is named.
    """
    came = CollectedTotals()
    own = [each for section in context.config.machine_class for each in section.places]
    addresses = places or [*context.config.collect.places, *own]
    if not addresses:
        raise UserError(
            f"{context.file.path} does not say where to collect results from; give a place as "
            "argument, or set collect.from"
        )
    for address in addresses:
        try:
            _collect_from(context, address, came, watcher)
        except UserError as error:
            came.wrong.append(str(error))
    for line in came.wrong:
        _LOG.warning(line)
    with held(context.results / ".collect.lock"):
        came.measurements = context.ingest().measurements
    return came


def collect_state(context: MeasuringContext, folders: Sequence[str]) -> int:
    """Replace this machine's state or plan by the hub's; return the number of files.

    Raises UserError for a place that is not a local folder.
    """
    if not folders or any(map(is_remote, folders)):
        raise UserError(
            "--state imports from exactly one local folder, for example: nightshift collect "
            "--state DIR"
        )
    return sum(take_state(Path(each), context.results) for each in folders)


def _collect_from(
    context: MeasuringContext, address: str, came: CollectedTotals, watcher: Watcher
) -> None:
    """Collect results from one place. Raises UserError if the collection cannot continue."""
    folder = Path(address)
    if not is_remote(address) and (not folder.is_dir() or (folder / SUMS).exists()):
        request = request_of(context, claimed(folder / CLAIM), address)
        found = _collected(context, folder, address, request)
        came.taken.append(found)
        came.wrong += found.refused.values()
        return
    requests: list[BenchRequest] = []

    def ask(batch: str, where: str) -> Assignment:
        requests.append(request_of(context, batch, where))
        return requests[-1].assignment

    with place_of(context.config, address) as place:
        gathered = gather(
            place,
            context.results,
            lambda box, _: _collected(context, box, place.name, requests[-1]),
            ask,
            watcher,
            now,
        )
    with held(context.results / ".collect.lock"):
        for request in requests:
            # Files that an interrupted collection took were not judged yet.
            judge_experiments(context, request)
    came.taken += gathered.taken
    came.known += gathered.known
    came.wrong += gathered.wrong


def _collected(
    context: MeasuringContext, folder: Path, place: str, request: BenchRequest
) -> Collected:
    """Collect from a local folder what the hub asked for, and judge its experiments."""
    with held(context.results / ".collect.lock"):
        brought = {path.name for path in (folder / EXPERIMENTS).glob("*")}
        set_aside_decided(context, request, brought)
        found = collect(folder, context.results, request.assignment)
        for run in found.measured_twice:
            _LOG.warning(
                f"{place}: {run} is in the results already with other content; the existing "
                "bundle is kept"
            )
        if judge_experiments(context, request, found.experiments):
            # A confirmed regression has a culprit, for which the folder may hold the search.
            _collect_searches(context, folder, request, found)
    return found


def _collect_searches(
    context: MeasuringContext, folder: Path, request: BenchRequest, found: Collected
) -> None:
    """Collect the bisections of regressions that the collected experiments have confirmed."""
    again = request_of(context, request.batch, request.place)
    more = collect(folder, context.results, again.assignment)
    found.experiments |= more.experiments
    found.refused = {
        name: line for name, line in found.refused.items() if name in more.refused
    } | more.refused
    judge_experiments(context, again, more.experiments)
