"""Detect processors that lost time or speed during a step: hypervisor, heat, clock rate."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from pipeline.machine.counters import (
    CPU,
    Ticks,
    increases,
    passed,
    throttled,
    ticks,
    ticks_by_processor,
)
from pipeline.machine.disturbance.base import Ending, Scene, ShareEnding, TakenTime
from pipeline.machine.kernel_files import Tree
from pipeline.model import ProbeSample
from pipeline.text.units import plural

CLOCK_RATE = "cpu.hz"
"""Name of the sampled field with the clock rate of the fastest processor, in Hz."""

_ALL = -1
"""Stands for all processors together."""

_FEWEST = 6
"""The fewest samples whose halves can be compared."""


def watch_steal(scene: Scene) -> ShareEnding:
    """Watch how much time the hypervisor gave to other machines while this one had work.

    What counts is the worst of the processors that serve; without pinning, all of them together.
    """
    before = _steal_reading(scene)

    def ending(_: Sequence[ProbeSample]) -> TakenTime | None:
        after = _steal_reading(scene)
        if not before or before.keys() != after.keys():
            return None
        took = {one: passed(before[one], after[one]) for one in before}
        wanted = {one: each.total - each.idle for one, each in took.items()}
        # A processor that had next to no work may have lost a single tick of two.
        least = sum(wanted.values()) / len(wanted)
        if not least:
            return TakenTime(0.0, "")
        shares = {one: each.steal / max(wanted[one], least) for one, each in took.items()}
        worst = max(shares, key=lambda one: shares[one])
        of = "the processors" if worst == _ALL else f"processor {worst}"
        share = shares[worst]
        return TakenTime(share, f"the hypervisor took {100 * share:.1f} % of the time of {of}")

    return ending


def _steal_reading(scene: Scene) -> dict[int, Ticks]:
    """Return the ticks of the processors that serve; of all together if nothing is pinned."""
    each = ticks_by_processor(scene.tree) if scene.serving else {}
    if scene.serving and each.keys() >= set(scene.serving):
        return {one: each[one] for one in scene.serving}
    whole = ticks(scene.tree)
    return {} if whole is None else {_ALL: whole}


def watch_throttling(scene: Scene) -> Ending:
    """Watch how often heat slows processors down."""
    before = throttled(scene.tree)

    def ending(_: Sequence[ProbeSample]) -> str:
        grew = increases(before, throttled(scene.tree))
        if not grew:
            return ""
        # Every processor of a package counts an event that slows the whole package.
        most = max(grew, key=lambda name: grew[name])
        return f"processors were throttled because of heat {plural(grew[most], 'time')} ({most})"

    return ending


def watch_clock_rate(scene: Scene) -> Ending:
    """Watch whether the processors' clock rate falls during the step.

    There is no reading before the step: the clock rate of an idle processor means nothing. Busy
    ones are the fastest, and their slowdown (heat, power) shows in the second half of a step.
    """

    def ending(samples: Sequence[ProbeSample]) -> str:
        rates = [each.values[CLOCK_RATE] for each in samples if CLOCK_RATE in each.values]
        if len(rates) < _FEWEST:
            return ""
        half = len(rates) // 2
        first, second = statistics.median(rates[:half]), statistics.median(rates[-half:])
        if second >= first * (1.0 - scene.limits.slowdown):
            return ""
        return (
            f"the processors' clock rate fell from {first / 1e9:.2f} to {second / 1e9:.2f} GHz "
            "within the step"
        )

    return ending


def fastest(tree: Tree) -> float | None:
    """Return the clock rate of the fastest processor now, in Hz; None if it is unknown."""
    rates = map(tree.number, tree.glob(f"{CPU}/cpu[0-9]*/cpufreq/scaling_cur_freq"))
    # The kernel reports kHz.
    return max((1e3 * rate for rate in rates if rate is not None), default=None)
