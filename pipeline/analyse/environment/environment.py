"""All that is known of the machines: from the rows of their controls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.analyse.detected import Excused
from pipeline.analyse.environment.calibrate import Calibration, Measured
from pipeline.analyse.environment.causes import updates_of
from pipeline.analyse.environment.changes import changes_of
from pipeline.analyse.environment.events import EnvironmentEvent, events_of
from pipeline.analyse.environment.guard import excused
from pipeline.analyse.environment.noise import deviations
from pipeline.analyse.environment.offsets import Standing, standings
from pipeline.analyse.environment.panel import Place, panels
from pipeline.model import Series, SeriesKey, Shift
from pipeline.store.controls import ControlRow
from pipeline.store.queries import RunRow

PART = 1.0 / 3.0
"""What part of the smallest change of interest a machine has to move by for an event: three
machines that share a line move its mean by a third of what one of them moves."""


@dataclass(frozen=True)
class Environment:
    """The machines as their controls show them, and how to see through what they do.

    ``runs`` says where and when every run of the series was measured.
    """

    standings: tuple[Standing, ...]
    events: tuple[EnvironmentEvent, ...]
    calibration: Calibration
    runs: Mapping[str, Measured] = field(default_factory=dict)

    def calibrated(self, series: Iterable[Series]) -> list[Series]:
        """Return series as the median machines of their classes would have measured them."""
        if not self.standings:
            return list(series)
        return [self.calibration.series(one, self.runs) for one in series]

    def sort_out(
        self, shifts: Sequence[Shift], series: Sequence[Series]
    ) -> tuple[list[Shift], list[Excused]]:
        """Return the shifts that are no machine's, and those that may be."""
        if not self.standings:
            return list(shifts), []
        by_key: dict[SeriesKey, Series] = {one.key: one for one in series}
        kept, others = [], []
        for shift in shifts:
            place = excused(shift, by_key[shift.series], self.runs, self.calibration)
            if place is None:
                kept.append(shift)
            else:
                others.append(Excused(machine=place.machine, shift=shift))
        return kept, others


def environment_of(
    rows: Iterable[ControlRow],
    runs: Mapping[str, Measured],
    alarms_per_1000: float,
    min_effect: float,
) -> Environment:
    """Return what the controls say. Without any, every series is what it was.

    ``alarms_per_1000`` is the threshold of the detection, ``min_effect`` the smallest change of
    interest of a series.
    """
    smallest = PART * min_effect
    known = panels(rows)
    updates = {panel.place: updates_of(panel) for panel in known}
    held = standings(
        [
            (panel, changes_of(panel, list(updates[panel.place]), noise, alarms_per_1000, smallest))
            for panel, noise in zip(known, deviations(known), strict=True)
        ]
    )
    return Environment(
        standings=tuple(held),
        events=tuple(events_of(held, updates, smallest)),
        calibration=Calibration(held, min_effect),
        runs=runs,
    )


NOTHING_KNOWN = Environment((), (), Calibration((), 0.0))
"""The environment of machines without controls."""


def measured_where(runs: Iterable[RunRow]) -> dict[str, Measured]:
    """Return on which machine, and when, each run was measured, by its id."""
    return {
        run.run_id: Measured(
            Place(str(run.machine["machine_class"]), str(run.machine["hostname"])), run.started_at
        )
        for run in runs
    }
