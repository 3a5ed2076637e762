"""Find the revisions of lines that are not measured, for backfill."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine

from pipeline.config import ConfigFile
from pipeline.experiments.backfill import Gaps, doubts_of
from pipeline.measure.build import Builder
from pipeline.measure.build_options import build_options
from pipeline.measure.discover import Discovered, offer_of, revisions_of_line, version_bound
from pipeline.measure.plan import Plan
from pipeline.measure.run import load_builds
from pipeline.model import Revision
from pipeline.regressions.detect import searched_series
from pipeline.regressions.repository import RegressionRepository
from pipeline.storage.journal import now
from pipeline.storage.runs import measured_cells
from pipeline.text.errors import UserError, did_you_mean


class BackfillRequest(NamedTuple):
    """Which lines backfill may fill, and between which revisions; empty means all."""

    lines: tuple[str, ...] = ()
    since: str = ""
    until: str = ""

    def check(self, file: ConfigFile) -> None:
        """Raise UserError for an unknown line, and for a range of revisions on several lines."""
        names = [line.name for line in file.config.line]
        for name in self.lines:
            if name not in names:
                raise UserError(f"there is no line {name!r}; {did_you_mean(name, names)}")
        if (self.since or self.until) and len(set(self.lines or names)) > 1:
            raise UserError("--since and --until apply to a single line; choose it with --line")

    def takes(self, line: str) -> bool:
        """Whether backfill was asked to fill a line."""
        return not self.lines or line in self.lines


def find_gaps(
    file: ConfigFile,
    asked: BackfillRequest,
    plan: Plan,
    found: Discovered,
    store: Engine,
    results: Path,
    builder: Builder,
) -> list[Gaps]:
    """Return the unmeasured revisions of each requested line, line by line.

    ``plan`` must be made from ``found``, and contain all measured revisions. Raises UserError for a
    revision that is not on its line, and for a requested line without a workload.
    """
    detected = RegressionRepository(results).detection(now())
    regressions = detected.regressions if detected is not None else ()
    series = searched_series(store, plan, file.config.detect, results) if regressions else []
    stored = {key for keys in measured_cells(store).values() for key in keys}
    lines = []
    for at, line in enumerate(plan.lines):
        if line.imported or not asked.takes(line.name):
            continue
        if not line.cells:
            if asked.lines:
                raise UserError(
                    f"no workload runs on the line {line.name}, so there is nothing to backfill; "
                    "add a [[workload]] for this line"
                )
            continue
        section = file.config.line[at]
        offer = offer_of(file, at, section)
        revisions = revisions_of_line(file, at, section, found.get(offer, ()))
        options = build_options(section, offer.supply)
        labels = tuple(revision.label for revision in revisions)
        there = {cell.revision.label for cell in line.cells if cell.key in stored}
        built = partial(_built, builder, revisions, options)
        failed = {
            state.version
            for state in load_builds(results)
            if state.failure
            and (state.target, state.source) == (line.target, offer.supply.name)
            and state.options == options
        }
        lines.append(
            Gaps(
                line=line.name,
                labels=labels,
                measured=frozenset(place for place, label in enumerate(labels) if label in there),
                # A revision that did not build may have been built since.
                dead=frozenset(
                    place
                    for place, revision in enumerate(revisions)
                    if revision.version in failed and not built(place)
                ),
                asked=_places(line.name, revisions, asked),
                ends=bool(asked.since or asked.until),
                built=built,
                doubts=doubts_of(regressions, series, line.name, labels),
            )
        )
    return lines


def _built(builder: Builder, revisions: Sequence[Revision], options: str, place: int) -> bool:
    return builder.find(revisions[place], options) is not None


def _places(line: str, revisions: Sequence[Revision], asked: BackfillRequest) -> range:
    """Return the places on a line from one revision to another, both included.

    As in the configuration, a version such as 17 stands for all of its releases (17.0, 17.1, ...).
    """
    orders = [revision.order for revision in revisions]
    since, until = version_bound(asked.since, revisions), version_bound(asked.until, revisions)
    for version, key in ((asked.since, since), (asked.until, until)):
        if version and not (key and any(order[: len(key)] == key for order in orders)):
            raise UserError(
                f"the line {line} has no revision {version}; `nightshift discover` lists the "
                "revisions"
            )
    within = [
        place
        for place, order in enumerate(orders)
        if order >= since and (not until or order[: len(until)] <= until)
    ]
    if not within:
        raise UserError(
            f"--since {asked.since} is not older than --until {asked.until} on the line {line}; "
            "swap them"
        )
    return range(within[0], within[-1] + 1)
