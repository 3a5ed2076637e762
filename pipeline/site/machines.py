"""The page about machines: how much equal binaries differ on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pipeline.environment.events import EnvironmentEvent
from pipeline.site.format import short
from pipeline.site.trends import Floats, Trend, median

MOST_RUNS = 5000
"""Maximum number of runs in the chart of a machine; older runs are left out."""

MOST_EVENTS = 100
"""Maximum number of listed environment events; older events are left out."""

MOST_FIGURES = 3
"""Maximum number of listed figures of an event: those that changed most."""

MOST_CONTROLS = 100
"""Maximum number of listed pairs of equal binaries: those that differ most. On a branch, every
commit that changes no program makes a pair."""


@dataclass(slots=True)
class _Machine:
    fingerprint: Mapping[str, Any]
    kernels: set[str] = field(default_factory=set)
    runs: int = 0
    points: list[tuple[float, float, str, str]] = field(default_factory=list)


class SiteMachines:
    """Collects the machines that measured the trends of the site."""

    def __init__(self, fingerprints: Mapping[str, Mapping[str, Any]]) -> None:
        self._fingerprints = fingerprints
        self._machines: dict[tuple[str, str], _Machine] = {}
        self._controls: list[dict[str, Any]] = []

    def add(self, trend: Trend, name: str) -> None:
        """Add the machines that measured the runs of a trend."""
        levels = trend.each_run(trend.headline) if trend.headline else None
        by_binary: dict[tuple[tuple[str, str], str], list[int]] = {}
        for number, run in enumerate(trend.runs):
            print_ = self._fingerprints[run.machine]
            key = (str(print_["machine_class"]), str(print_["hostname"]))
            machine = self._machines.setdefault(key, _Machine(print_))
            machine.kernels.add(str(print_["kernel"]))
            machine.runs += 1
            by_binary.setdefault((key, run.build_hash), []).append(number)
        if levels is None:
            return
        # A single run has no other to differ from.
        several = {group: own for group, own in by_binary.items() if len(own) > 1}
        ratios = _ratios(levels, several.values()).tolist()
        for (key, _), numbers in several.items():
            for number in numbers:
                run = trend.runs[number]
                if not math.isnan(ratios[number]):
                    self._machines[key].points.append(
                        (run.started_at.timestamp(), ratios[number], run.revision, name)
                    )
        self._add_controls(trend, name)

    def _add_controls(self, trend: Trend, name: str) -> None:
        """Compare those revisions of a trend that are the same binary."""
        medians = trend.medians(trend.headline)
        first: dict[str, int] = {}
        runs = zip(trend.places.tolist(), trend.runs, strict=True)
        for place, binary in sorted({(place, run.build_hash) for place, run in runs}):
            known = first.setdefault(binary, place)
            if known == place:
                continue
            ratios = medians[:, place] / _not_zero(medians[:, known])
            if np.isnan(ratios).all():
                continue
            low, high = int(np.nanargmin(ratios)), int(np.nanargmax(ratios))
            self._controls.append(
                {
                    "trend": name,
                    "metric": trend.headline,
                    "of": trend.revisions[known].label,
                    "control": trend.revisions[place].label,
                    "median": short(float(median(ratios))),
                    "steps": int(np.count_nonzero(~np.isnan(ratios))),
                    "low": [trend.steps[low].name, short(float(ratios[low]))],
                    "high": [trend.steps[high].name, short(float(ratios[high]))],
                }
            )

    def document(self, events: Sequence[EnvironmentEvent] = ()) -> dict[str, Any]:
        """Return the data of the page about machines, with their changes, newest first."""
        return {
            "events": [_event(event) for event in events[:MOST_EVENTS]],
            "machines": [
                {
                    **{
                        name: machine.fingerprint.get(name, "")
                        for name in (
                            "machine_class",
                            "hostname",
                            "cpu_model",
                            "cores",
                            "memory_bytes",
                            "operating_system",
                            "virtualised",
                            "storage",
                        )
                    },
                    "kernels": sorted(machine.kernels),
                    "runs": machine.runs,
                    "points": [
                        [at, short(ratio), label, name]
                        for at, ratio, label, name in sorted(machine.points)[-MOST_RUNS:]
                    ],
                }
                for machine in self._machines.values()
            ],
            "controls": sorted(
                self._controls, key=lambda one: abs(one["median"] - 1), reverse=True
            )[:MOST_CONTROLS],
            "pairs": len(self._controls),
        }


def _event(event: EnvironmentEvent) -> dict[str, Any]:
    reported = event.effects[:MOST_FIGURES]
    return {
        "since": event.since.isoformat(),
        "until": event.until.isoformat() if event.until else "",
        "machine": f"{event.machine_class}: {event.machine}",
        "kind": event.kind.value,
        "cause": event.cause,
        "moved": [
            f"{one.step} {one.metric} {one.effect:+.1%} ({one.low:+.1%} to {one.high:+.1%})"
            for one in reported
        ],
        "more": len(event.effects) - len(reported),
    }


def _ratios(levels: Floats, groups: Iterable[Sequence[int]]) -> Floats:
    """Return how much each run differs from the median of runs of the same binary.

    ``levels`` are the values of steps by runs. Groups of the same size are computed together,
    because a long line has thousands of groups.
    """
    by_size: dict[int, list[Sequence[int]]] = {}
    for group in groups:
        by_size.setdefault(len(group), []).append(group)
    ratios = np.full(levels.shape[1], np.nan, dtype=np.float32)
    for same in by_size.values():
        runs = np.array(same)
        of_runs = levels[:, runs]
        of_group = of_runs / _not_zero(median(of_runs))[..., None]
        ratios[runs] = median(np.moveaxis(of_group, 0, -1))
    return ratios


def _not_zero(values: Floats) -> Floats:
    result: Floats = np.where(values == 0, np.nan, values).astype(np.float32)
    return result
