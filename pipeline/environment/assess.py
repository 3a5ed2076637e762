"""Assess the machines by their controls: which changed, and how they differ from each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.environment.calibrate import Calibration, RunPlace
from pipeline.environment.causes import updates_of
from pipeline.environment.changes import changes_of
from pipeline.environment.events import EnvironmentEvent, events_of
from pipeline.environment.guard import excused
from pipeline.environment.noise import deviations
from pipeline.environment.offsets import MachineOffset, machine_offsets
from pipeline.environment.panel import ClassMachine, panels
from pipeline.model import Excused, SeriesKey, Shift
from pipeline.storage.controls import ControlRow
from pipeline.storage.runs import RunHead
from pipeline.storage.series import Series

PART = 1.0 / 3.0
"""Share of the smallest change of interest by which a machine must change to cause an event. If one
of three machines that measure a line changes, the mean of the line changes by a third as much."""


@dataclass(frozen=True)
class EnvironmentAssessment:
    """What controls show about machines: differences, changes, and corrections of series.

    ``runs`` maps each run's id to its machine and start time.
    """

    machine_offsets: tuple[MachineOffset, ...]
    events: tuple[EnvironmentEvent, ...]
    calibration: Calibration
    runs: Mapping[str, RunPlace] = field(default_factory=dict)

    def calibrated(self, series: Iterable[Series]) -> list[Series]:
        """Return series corrected to what the median machine would have measured."""
        if not self.machine_offsets:
            return list(series)
        return [self.calibration.series(one, self.runs) for one in series]

    def sort_out(
        self, shifts: Sequence[Shift], series: Sequence[Series]
    ) -> tuple[list[Shift], list[Excused]]:
        """Split shifts into changes of the DBMS, and changes that a machine may explain."""
        if not self.machine_offsets:
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
    runs: Mapping[str, RunPlace],
    alarms_per_1000: float,
    min_effect: float,
) -> EnvironmentAssessment:
    """Assess the machines from the measurements of their controls.

    Without control rows the assessment leaves every series unchanged. ``alarms_per_1000`` is the
    number of false alarms that detection accepts in 1000 nights, ``min_effect`` the smallest
    relative change of interest in a series.
    """
    smallest = PART * min_effect
    known = panels(rows)
    updates = {panel.place: updates_of(panel) for panel in known}
    held = machine_offsets(
        [
            (panel, changes_of(panel, list(updates[panel.place]), noise, alarms_per_1000, smallest))
            for panel, noise in zip(known, deviations(known), strict=True)
        ]
    )
    return EnvironmentAssessment(
        machine_offsets=tuple(held),
        events=tuple(events_of(held, updates, smallest)),
        calibration=Calibration(held, min_effect),
        runs=runs,
    )


NOTHING_KNOWN = EnvironmentAssessment((), (), Calibration((), 0.0))
"""The assessment without controls, from which nothing is known about machines."""


def measured_where(runs: Iterable[RunHead], hostnames: Mapping[str, str]) -> dict[str, RunPlace]:
    """Return the machine and the start time of each run, by run id."""
    return {
        run.run_id: RunPlace(
            ClassMachine(run.machine_class, hostnames[run.machine]),
            run.started_at,
        )
        for run in runs
    }
