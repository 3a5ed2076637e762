"""Strands: what was measured along a line with one setup, before any value of it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Engine

from pipeline.analyse.series import SLA_METRICS
from pipeline.execute.plan import Line, Plan
from pipeline.model import Revision, StepStatus
from pipeline.publish.names import FIGURES, full_name
from pipeline.publish.samples import Labels, labelled
from pipeline.store.queries import RunHead, Value, run_heads, values_of

VERSION_LENGTH = 8
"""Letters of a workload's hash that tell its versions apart."""

_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
"""How much later than its first run a revision may have been made: clocks and zones differ."""
_APART = timedelta(seconds=1)
"""Between revisions of one time: more than corrections, of a millisecond each, come up to."""

_AT_ONCE = 100
"""Runs whose values are read by one statement."""


class Setup(NamedTuple):
    """What is fixed along a strand; the labels of its series but for the step and the group."""

    line: str
    target: str
    config: str
    build_options: str
    machine_class: str
    workload: str
    workload_version: str
    clients: int


@dataclass(frozen=True)
class Standing:
    """A revision of a strand: its place on the line, when it was made, and its runs, oldest first.

    ``made`` is None where that is not known: where nobody says it, or nobody can believe it.
    """

    position: int
    label: str
    made: datetime | None
    runs: tuple[RunHead, ...]

    @property
    def first_run(self) -> datetime:
        """When it was first measured."""
        return self.runs[0].started_at

    @property
    def said(self) -> list[tuple[str, str | None]]:
        """Its runs and what they say. In a store from before there were digests names alone."""
        return [(run.run_id, run.digest) for run in self.runs]


@dataclass(frozen=True)
class Strand:
    """What was measured along a line with one setup; its revisions in the order of the line."""

    setup: Setup
    standings: tuple[Standing, ...]
    _labels: dict[tuple[str, str, str, str], Labels] = field(default_factory=dict, compare=False)

    def label(self, name: str, step: str, group: str, **more: str) -> Labels:
        """Return the labels of a series of one of its steps."""
        return labelled(name, **self.setup._asdict(), step=step, group=group, **more)

    def figure(self, view: str, metric: str, step: str, group: str) -> Labels:
        """Return the labels of the series of a metric in a view."""
        # Made once: a series has as many samples as the line has runs.
        key = (view, metric, step, group)
        labels = self._labels.get(key)
        if labels is None:
            figure = FIGURES[metric]
            labels = self.label(full_name(view, figure), step, group, **figure.labels)
            self._labels[key] = labels
        return labels


def strands(store: Engine, plan: Plan) -> list[Strand]:
    """Return what was measured of a plan's lines. One statement, which reads no value."""
    heads = run_heads(store)
    return [strand for line in plan.lines for strand in _along(line, heads)]


def published_values(store: Engine, runs: Sequence[RunHead]) -> Iterator[Value]:
    """Yield what was measured in runs and is published.

    Of a step that failed its SLA that is what the SLA is about: its other figures are of another
    load.
    """
    for start in range(0, len(runs), _AT_ONCE):
        for value in values_of(store, [run.run_id for run in runs[start : start + _AT_ONCE]]):
            meant = value.status != StepStatus.SLA_FAILED or value.metric in SLA_METRICS
            if meant and value.metric in FIGURES:
                yield value


def _along(line: Line, heads: Iterable[RunHead]) -> list[Strand]:
    position = {revision.label: place for place, revision in enumerate(line.revisions)}
    places = {cell.key: position[cell.revision.label] for cell in line.cells}
    found: dict[Setup, dict[int, list[RunHead]]] = {}
    for head in heads:
        if (place := places.get(head.cell_key)) is not None:
            found.setdefault(_setup(line.name, head), {}).setdefault(place, []).append(head)
    return [
        Strand(setup, tuple(_standings(line.revisions, by_place)))
        for setup, by_place in found.items()
    ]


def _standings(
    revisions: Sequence[Revision], by_place: Mapping[int, Sequence[RunHead]]
) -> Iterator[Standing]:
    """Yield the revisions that have runs, each with a time of its own.

    A branch that was rebased has many commits of one second, and a control was made when its
    revision was; of two values of a series at one time Prometheus keeps one.
    """
    taken: set[datetime] = set()
    for place, runs in sorted(by_place.items()):
        made = _made(revisions[place], runs)
        while made in taken:
            made += _APART
        if made is not None:
            taken.add(made)
        yield Standing(place, runs[0].revision, made, tuple(runs))


def _made(revision: Revision, runs: Sequence[RunHead]) -> datetime | None:
    """Return when a revision was made, if that is known and can be.

    One sample of the future would make all others too old to be taken; and nothing is older than
    the time that is counted from.
    """
    told = (run.revision_at for run in runs if run.revision_at is not None)
    made = revision.at or next(told, None)
    if made is None or not _FIRST < made < runs[0].started_at + _DAY:
        return None
    return made


def _setup(line: str, head: RunHead) -> Setup:
    return Setup(
        line=line,
        target=head.target,
        config=head.config,
        build_options=head.build_options,
        machine_class=head.machine_class,
        workload=head.workload,
        workload_version=head.workload_hash[:VERSION_LENGTH],
        clients=head.clients,
    )
