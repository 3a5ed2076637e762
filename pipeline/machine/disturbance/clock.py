"""Detect that the machine's clock was changed, or the machine was suspended."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pipeline.machine.disturbance.base import ClockReading, Ending, Scene
from pipeline.model import ProbeSample


def moment() -> ClockReading:
    """Read the kernel's clocks now."""
    return ClockReading(
        time.clock_gettime(time.CLOCK_REALTIME),
        time.clock_gettime(time.CLOCK_MONOTONIC),
        time.clock_gettime(time.CLOCK_BOOTTIME),
    )


def watch_clock(scene: Scene) -> Ending:
    """Watch whether the kernel's clocks diverge while a step runs.

    Slewing, the usual way to correct the time of day, is not detected: it also changes the
    monotonic clock.
    """
    before = scene.clock()

    def ending(_: Sequence[ProbeSample]) -> str:
        after = scene.clock()
        passed = after.monotonic - before.monotonic
        suspended = after.boottime - before.boottime - passed
        # The time of day advances while the machine is suspended.
        jumped = after.realtime - before.realtime - passed - suspended
        if suspended > scene.limits.clock_jump:
            return f"the machine was suspended for {suspended:.1f} s"
        if abs(jumped) > scene.limits.clock_jump:
            return f"the time of day was changed by {jumped:+.1f} s"
        return ""

    return ending
