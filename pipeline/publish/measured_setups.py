"""The runs of a line by setup and revision, read without their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Engine

from pipeline.measure.plan import Line, Plan
from pipeline.model import Mode, Revision, SeriesKey, StepStatus
from pipeline.publish.names import FIGURES, full_name
from pipeline.publish.samples import Labels, labelled
from pipeline.storage.derive.background import SLA_METRICS
from pipeline.storage.measurements import Value, values_of
from pipeline.storage.runs import RunHead, run_heads

VERSION_LENGTH = 8
"""Digits of a workload's hash that distinguish its versions."""

_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
"""Maximum time by which a revision's time may lie after its first run, because clocks and time
zones differ."""
_APART = timedelta(seconds=1)
"""The offset between the published times of revisions that have the same time. It must exceed the
sum of all corrections, which take a millisecond each."""

_AT_ONCE = 100
"""Number of runs whose values one SQL statement reads."""


class PublishedSetup(NamedTuple):
    """The labels that all time series of a setup have in common.

    ``mode`` is empty for timed steps, so that their series keep the labels that they had before
    counted steps existed.
    """

    line: str
    target: str
    config: str
    build_options: str
    machine_class: str
    workload: str
    workload_version: str
    clients: int
    mode: str = ""

    @classmethod
    def of(cls, line: str, measured: RunHead | SeriesKey) -> PublishedSetup:
        """Return the published setup of a run or a series on a line."""
        return cls(
            line=line,
            target=measured.target,
            config=measured.config,
            build_options=measured.build_options,
            machine_class=measured.machine_class,
            workload=measured.workload,
            workload_version=measured.workload_hash[:VERSION_LENGTH],
            clients=measured.clients,
            mode=measured.mode.value if measured.mode is not Mode.TIME else "",
        )

    @property
    def key(self) -> str:
        """The setup as a part of the keys of its groups of samples."""
        timed = self[:-1]
        return " ".join(map(str, (*timed, self.mode) if self.mode else timed))


@dataclass(frozen=True)
class RevisionRuns:
    """A revision in a setup: its position, its time and its runs.

    ``made`` is None if the time is missing or implausible.
    """

    position: int
    label: str
    made: datetime | None
    runs: tuple[RunHead, ...]

    @property
    def first_run(self) -> datetime:
        """The time at which the revision was first measured."""
        return self.runs[0].started_at

    @property
    def identity(self) -> list[tuple[str, str | None]]:
        """The names and digests of the revision's runs."""
        return [(run.run_id, run.digest) for run in self.runs]


@dataclass(frozen=True)
class MeasuredSetup:
    """All runs of one setup along a line, in the order of revisions."""

    setup: PublishedSetup
    standings: tuple[RevisionRuns, ...]
    _labels: dict[tuple[str, str, str, str], Labels] = field(default_factory=dict, compare=False)

    def label(self, name: str, step: str, group: str, **more: str) -> Labels:
        """Return the labels of the time series of a step."""
        return labelled(name, **self.setup._asdict(), step=step, group=group, **more)

    def figure(self, view: str, metric: str, step: str, group: str) -> Labels:
        """Return the labels of the time series of a metric of a step."""
        # Cached: a series has as many samples as the line has runs.
        key = (view, metric, step, group)
        labels = self._labels.get(key)
        if labels is None:
            figure = FIGURES[metric]
            labels = self.label(full_name(view, figure), step, group, **figure.labels)
            self._labels[key] = labels
        return labels


def measured_setups(store: Engine, plan: Plan) -> list[MeasuredSetup]:
    """Return the runs on the lines of a plan, setup by setup, without reading values."""
    heads = run_heads(store)
    return [measured for line in plan.lines for measured in _along(line, heads)]


def published_values(store: Engine, runs: Sequence[RunHead]) -> Iterator[Value]:
    """Yield those values of the runs that are published.

    For a step that failed its SLA, these are only the metrics of the SLA: its other figures were
    measured under another load.
    """
    for start in range(0, len(runs), _AT_ONCE):
        for value in values_of(store, [run.run_id for run in runs[start : start + _AT_ONCE]]):
            meant = value.status != StepStatus.SLA_FAILED or value.metric in SLA_METRICS
            if meant and value.metric in FIGURES:
                yield value


def _along(line: Line, heads: Iterable[RunHead]) -> list[MeasuredSetup]:
    position = {revision.label: place for place, revision in enumerate(line.revisions)}
    places = {cell.key: position[cell.revision.label] for cell in line.cells}
    found: dict[PublishedSetup, dict[int, list[RunHead]]] = {}
    for head in heads:
        if (place := places.get(head.cell_key)) is not None:
            setup = PublishedSetup.of(line.name, head)
            found.setdefault(setup, {}).setdefault(place, []).append(head)
    return [
        MeasuredSetup(setup, tuple(_standings(line.revisions, by_place)))
        for setup, by_place in found.items()
    ]


def _standings(
    revisions: Sequence[Revision], by_place: Mapping[int, Sequence[RunHead]]
) -> Iterator[RevisionRuns]:
    """Yield the revisions that have runs, each with a distinct time.

    Revisions can have the same time: commits of a rebased branch may share a second, and a control
    has the time of its revision. Prometheus keeps only one of two values of a series at the same
    time.
    """
    taken: set[datetime] = set()
    for place, runs in sorted(by_place.items()):
        made = _made(revisions[place], runs)
        while made in taken:
            made += _APART
        if made is not None:
            taken.add(made)
        yield RevisionRuns(place, runs[0].revision, made, tuple(runs))


def _made(revision: Revision, runs: Sequence[RunHead]) -> datetime | None:
    """Return when a revision was released or committed, if that is known and plausible.

    A single sample in the future would make Prometheus reject all others as too old. Nothing is
    older than the start of Unix time.
    """
    times = (run.revision_at for run in runs if run.revision_at is not None)
    made = revision.at or next(times, None)
    if made is None or not _FIRST < made < runs[0].started_at + _DAY:
        return None
    return made
