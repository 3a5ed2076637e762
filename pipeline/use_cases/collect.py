"""Collect results of other machines, each run once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.files.lock import held
from pipeline.measure.progress import Watcher
from pipeline.storage.journal import now
from pipeline.text.errors import UserError
from pipeline.transfer.folder import SUMS
from pipeline.transfer.gather import gather
from pipeline.transfer.places import is_remote
from pipeline.transfer.results import Collected, collect, journal_events_from
from pipeline.transfer.state import take_state
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.places import place_of

_LOG = logging.getLogger(__name__)


@dataclass
class CollectedTotals:
    """Sums of what was collected from all places. ``wrong`` has a line for each file that failed.

    ``measurements`` were added to the store.
    """

    taken: list[Collected] = field(default_factory=list)
    known: int = 0
    measurements: int = 0
    wrong: list[str] = field(default_factory=list)


@logged("collect")
def collect_all(
    context: MeasuringContext, places: Sequence[str], watcher: Watcher
) -> CollectedTotals:
    """Collect from places, by default those of the configuration, and ingest the bundles.

    An error of one place does not stop the others. Raises UserError if no place is named.
    """
    came = CollectedTotals()
    addresses = places or context.config.collect.places
    if not addresses:
        raise UserError(
            f"{context.file.path} names no place to collect from; give one as argument, or set "
            "collect.from"
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
    """Import states or plans, replacing the local ones; return the number of files.

    Raises UserError for a place that is not a local folder.
    """
    if not folders or any(map(is_remote, folders)):
        raise UserError("--state needs one local folder, for example: collect --state DIR")
    return sum(take_state(Path(each), context.results) for each in folders)


def _collect_from(
    context: MeasuringContext, address: str, came: CollectedTotals, watcher: Watcher
) -> None:
    """Collect from one place. Raises UserError for an error that ends the transfer."""
    folder = Path(address)
    if not is_remote(address) and (not folder.is_dir() or (folder / SUMS).exists()):
        came.taken.append(_collected(context, folder, address))
        return
    with place_of(context.config, address) as place:
        found = gather(
            place,
            context.results,
            lambda box: _collected(context, box, place.name),
            watcher,
            now,
        )
    came.taken += found.taken
    came.known += found.known
    came.wrong += found.wrong


def _collected(context: MeasuringContext, folder: Path, place: str) -> Collected:
    """Collect a local folder that ``pack`` wrote, under the lock of collecting."""
    with held(context.results / ".collect.lock"):
        found = collect(folder, context.results)
        for run in found.measured_twice:
            _LOG.warning(
                f"{place}: {run} is in the results already with other content; the existing "
                "bundle is kept"
            )
        # Outcomes of experiments come before detections that use them.
        context.regressions.record_pending(now())
        journal_events_from(folder, context.results)
    return found
