"""Timers of systemd: what would begin in the middle of a night."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.machine.tune.host import Host
from pipeline.machine.tune.knobs import INACTIVE, find_knob
from pipeline.machine.tune.settings import Settings
from pipeline.machine.tune.wish import Asked, Lacking, Wish


def timers(settings: Settings, host: Host) -> Iterator[Asked]:
    """Ask for timers to be stopped. What they have begun already goes on to its end."""
    for unit in settings.stop_timers:
        if find_knob(knob := f"timer {unit}", host).read():
            yield Wish("stop_timers", knob, INACTIVE)
        else:
            yield Lacking("stop_timers", f"systemd has no {unit} here")
