"""In how many builds backfill locates a known change, on simulated branches.

Of a branch every sixteenth commit was measured, three times each, and a change was found between
two of them; :func:`pipeline.experiments.backfill.choose` says which commit is measured next, until
it has enough. A commit has a level, and each of its runs a noise.

    python -m benchmarks.backfill --trials 200 --seed 7000
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from changepoint.evaluate.measure import Rate
from pipeline.experiments.backfill import Gaps, choose, doubts_of
from pipeline.model import Regression, RegressionState, SeriesKey, Shift
from pipeline.regressions.grouping import group_shifts
from pipeline.storage.series import Point, Series

COUNT, EVERY, REPETITIONS = 201, 16, 3
"""Commits, of which every so many was measured so often."""

LINE = "trunk"

KEY = SeriesKey(
    line=LINE,
    target="sqlite",
    config="wal",
    build_options="rel_o2nofp",
    machine_class="simulated",
    workload="simulated",
    workload_hash="simulated",
    clients=1,
    step="insert",
    group="writes",
    unit="queries",
    metric="qps",
)


@dataclass
class Branch:
    """Commits c0, c1, ... that are measured without a machine.

    ``culprits`` are the relative changes of throughput, by place; ``noise`` is the deviation of
    the logarithm of a figure between runs. What was measured is in ``points``.
    """

    culprits: Mapping[int, float]
    random: np.random.Generator
    noise: float = 0.01
    count: int = COUNT
    points: list[Point] = field(default_factory=list)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the commits, in order."""
        return tuple(f"c{at}" for at in range(self.count))

    @property
    def measured(self) -> frozenset[int]:
        """The places that were measured."""
        return frozenset(point.position for point in self.points)

    def measure(self, *places: int) -> None:
        """Measure commits, every repetition."""
        for at in places:
            level = math.prod(1 + effect for place, effect in self.culprits.items() if place <= at)
            for repetition in range(1, REPETITIONS + 1):
                noise = float(self.random.normal(0.0, self.noise))
                self.points.append(
                    Point(
                        position=at,
                        revision=f"c{at}",
                        repetition=repetition,
                        value=1000.0 * level * math.exp(noise),
                        run_id=f"c{at}-{repetition}",
                    )
                )

    def series(self, key: SeriesKey = KEY) -> Series:
        """Return what was measured."""
        return Series.of(key=key, points=tuple(self.points))


def between(good: int, bad: int, key: SeriesKey = KEY) -> Shift:
    """Return a change between two commits, as a detection reports it."""
    return Shift(
        series=key,
        position=bad,
        earliest=bad,
        latest=bad,
        last_good=f"c{good}",
        first_bad=f"c{bad}",
        before=1000.0,
        after=900.0,
        effect=-0.1,
        effect_low=-0.11,
        effect_high=-0.09,
        pvalue=0.001,
        worse=True,
    )


def known(good: int, bad: int, state: RegressionState = RegressionState.SUSPECTED) -> Regression:
    """Return a regression between two commits."""
    (one,) = group_shifts([between(good, bad)])
    return one.model_copy(update={"state": state})


def locate(branch: Branch, regression: Regression, dead: Collection[int] = ()) -> int:
    """Measure while more is to be learnt of a regression; return how many builds that took.

    Commits in ``dead`` do not build.
    """
    failed: set[int] = set()
    for builds in range(branch.count):
        gaps = Gaps(
            line=LINE,
            labels=branch.labels,
            measured=branch.measured,
            dead=frozenset(failed),
            asked=range(branch.count),
            ends=False,
            built=lambda _: False,
            doubts=doubts_of([regression], [branch.series()], LINE, branch.labels),
        )
        choice = choose([gaps])
        if choice is None or not choice.doubt:
            return builds
        if choice.place in dead:
            failed.add(choice.place)
        else:
            branch.measure(choice.place)
    raise AssertionError("there are no more builds than commits")


def gap_of(culprit: int, off: int) -> tuple[int, int]:
    """Return between which measured commits the change is found, ``off`` of them too late."""
    bad = EVERY * math.ceil(culprit / EVERY) + off * EVERY
    return bad - EVERY, bad


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each kind of branch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7000)
    asked = parser.parse_args(arguments)
    out = sys.stdout
    out.write("| effect | noise of a run | change point | located | builds, mean / most |\n")
    out.write("| --- | --- | --- | --- | --- |\n")
    for effect, noise in ((-0.05, 0.01), (-0.05, 0.02), (-0.03, 0.01), (-0.03, 0.02)):
        for off in (0, 1):
            located, builds = 0, []
            for trial in range(asked.trials):
                random = np.random.default_rng([asked.seed, trial])
                culprit = int(random.integers(COUNT // 3, 2 * COUNT // 3))
                branch = Branch({culprit: effect}, random, noise)
                branch.measure(*range(0, COUNT, EVERY))
                builds.append(locate(branch, known(*gap_of(culprit, off))))
                located += {culprit - 1, culprit} <= branch.measured
            out.write(
                f"| {effect:.0%} | {noise:.0%} | {f'{off} off' if off else 'right'} | "
                f"{Rate(located, asked.trials)} | {np.mean(builds):.1f} / {max(builds)} |\n"
            )


if __name__ == "__main__":
    main()
