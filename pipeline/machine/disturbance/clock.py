"""Clocks that did not go on evenly: a time of day that was set, a machine that was suspended."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pipeline.machine.disturbance.base import Ending, Moment, Scene
from pipeline.model import Sample


def moment() -> Moment:
    """Read the kernel's clocks."""
    return Moment(
        time.clock_gettime(time.CLOCK_REALTIME),
        time.clock_gettime(time.CLOCK_MONOTONIC),
        time.clock_gettime(time.CLOCK_BOOTTIME),
    )


def watch_clock(scene: Scene) -> Ending:
    """Watch whether the clocks went apart.

    Slewing, by which the time of day is usually set right, has no part in it: that is done to the
    monotonic clock, too.
    """
    before = scene.clock()

    def ending(_: Sequence[Sample]) -> str:
        after = scene.clock()
        passed = after.monotonic - before.monotonic
        suspended = after.boottime - before.boottime - passed
        # A time of day goes on while the machine is suspended.
        jumped = after.realtime - before.realtime - passed - suspended
        if suspended > scene.limits.clock_jump:
            return f"the machine was suspended for {suspended:.1f} s"
        if abs(jumped) > scene.limits.clock_jump:
            return f"the time of day was set by {jumped:+.1f} s"
        return ""

    return ending
