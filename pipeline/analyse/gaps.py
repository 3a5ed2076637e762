"""What of the lines was skipped, as the store, the builds and the last detection know it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine

from pipeline.analyse.backfill import Gaps, doubts_of
from pipeline.analyse.detected import kept_detection
from pipeline.analyse.detection import searched_series
from pipeline.config import ConfigFile
from pipeline.errors import UserError, meant
from pipeline.execute.build import Builder
from pipeline.execute.discover import Discovered
from pipeline.execute.lines import bound, offer_of, revisions_of_line
from pipeline.execute.options import build_options
from pipeline.execute.plan import Plan
from pipeline.execute.run import load_builds
from pipeline.model import Revision
from pipeline.store.queries import measured_cells


class Asked(NamedTuple):
    """What is to be filled: which lines, and from one revision to another; all if empty."""

    lines: tuple[str, ...] = ()
    since: str = ""
    until: str = ""

    def check(self, file: ConfigFile) -> None:
        """Refuse lines that are not there, and revisions of more than one. Raises UserError."""
        names = [line.name for line in file.config.line]
        for name in self.lines:
            if name not in names:
                raise UserError(f"there is no line {name!r}; {meant(name, names)}")
        if (self.since or self.until) and len(set(self.lines or names)) > 1:
            raise UserError("--since and --until name revisions of one line; say which by --line")

    def takes(self, line: str) -> bool:
        """Say whether a line is meant."""
        return not self.lines or line in self.lines


def find_gaps(
    file: ConfigFile,
    asked: Asked,
    plan: Plan,
    found: Discovered,
    store: Engine,
    results: Path,
    builder: Builder,
) -> list[Gaps]:
    """Return what is known of each line that is asked for, in the order of the configuration.

    ``plan`` is of ``found``, with what was measured. Raises UserError for a revision that is not
    on its line, and for a line that was named and has no workload.
    """
    detected = kept_detection(results)
    regressions = detected.regressions if detected is not None else ()
    series = searched_series(store, plan, file.config.detect) if regressions else []
    stored = {key for keys in measured_cells(store).values() for key in keys}
    lines = []
    for at, line in enumerate(plan.lines):
        if not asked.takes(line.name):
            continue
        if not line.cells:
            if asked.lines:
                raise UserError(f"no workload runs on the line {line.name}, so it has no gaps")
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
                # One that did not build may have been built since.
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


def _places(line: str, revisions: Sequence[Revision], asked: Asked) -> range:
    """Return the places from one revision to another, both included.

    As in the configuration, 17 takes in all that begins so.
    """
    orders = [revision.order for revision in revisions]
    since, until = bound(asked.since, revisions), bound(asked.until, revisions)
    for version, key in ((asked.since, since), (asked.until, until)):
        if version and not (key and any(order[: len(key)] == key for order in orders)):
            raise UserError(
                f"the line {line} takes no {version}; `nightshift discover` lists what there is"
            )
    within = [
        place
        for place, order in enumerate(orders)
        if order >= since and (not until or order[: len(until)] <= until)
    ]
    if not within:
        raise UserError(f"{asked.since} does not come before {asked.until} on {line}")
    return range(within[0], within[-1] + 1)
