"""Tuning of systemd timers, whose jobs could start in the middle of a night."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.machine.tune.desired_value import DesiredValue, KnobRequest, UnavailableSetting
from pipeline.machine.tune.host import Host
from pipeline.machine.tune.knobs import INACTIVE, find_knob
from pipeline.machine.tune.settings import TuneSettings


def timers(settings: TuneSettings, host: Host) -> Iterator[KnobRequest]:
    """Request that the configured systemd timers be stopped for the night."""
    for unit in settings.stop_timers:
        if find_knob(knob := f"timer {unit}", host).read():
            yield DesiredValue("stop_timers", knob, INACTIVE)
        else:
            yield UnavailableSetting("stop_timers", f"systemd has no unit {unit} on this machine")
