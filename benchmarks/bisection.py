"""How often bisecting a line ends rightly and what it costs, on simulated machines.

A simulated machine measures the commits of a line, of which one in ten does not build, with noise
as it was fitted to real runs (:mod:`benchmarks.noise`), or normal;
:func:`pipeline.experiments.bisect.bisect` does the rest, from the comparison of the ends to that of
the culprit with its parent. The shares have 95 % limits (Clopper and Pearson).

    python -m benchmarks.bisection --trials 200 --seed 6000
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.noise import Draws, Noise, fitted
from changepoint.evaluate.measure import Rate
from pipeline.experiments.bisect import Bisected, bisect
from pipeline.experiments.experiment import Figure, Figures
from pipeline.measure.build import NotBuiltError
from pipeline.model import Cell, Revision, Scale, ServerConfig, Step, Workload

COUNT = 1024
DEAD = 0.1
"""Part of the commits that do not build."""

SMALLEST = 0.02
NORMAL = Noise(0.02, common=0.0)
JUMPS = (10, 30, 50)
"""Runs from which on a machine is slower: while the ends are compared, and in the search."""

QPS, CPU = Figure("insert", "qps"), Figure("insert", "cpu_us/o")


@dataclass
class SimulatedLine:
    """A :class:`Runner` whose runs take no time.

    ``culprits`` are the relative changes of throughput, by position; CPU per operation changes
    inversely. Positions in ``dead`` do not build, those in ``failing`` yield no figures, those in
    ``there`` are built already. ``noise`` is how runs differ, ``layout`` the deviation of the
    logarithm of a figure between builds, ``jump`` the run from which on the machine is faster or
    slower, and by how much. Attempts that were made are kept in ``made``, as bundles are; the one
    after ``most`` is interrupted.
    """

    culprits: Mapping[int, float]
    random: np.random.Generator
    noise: Noise = NORMAL
    layout: float = 0.0
    jump: tuple[float, float] = (math.inf, 0.0)
    dead: Collection[int] = ()
    failing: Collection[int] = ()
    there: set[int] = field(default_factory=set)
    made: dict[tuple[int, int], Figures] = field(default_factory=dict)
    most: float = math.inf

    def __post_init__(self) -> None:
        """Begin the noise."""
        self._draws = Draws(self.noise, 2, self.random)

    def prepare(self, cell: Cell) -> None:
        """Build a commit. Raises NotBuiltError for a dead one."""
        (at,) = cell.revision.order
        if at in self.dead:
            raise NotBuiltError("cc: error: it does not compile\nmore of it")
        self.there.add(at)

    def built(self, cell: Cell) -> bool:
        """Say whether a commit was built."""
        return cell.revision.order[0] in self.there

    def measure(self, cell: Cell, attempt: int) -> Figures:
        """Return the figures of an attempt, drawn when it is first asked for."""
        (at,) = cell.revision.order
        if (at, attempt) not in self.made:
            if len(self.made) >= self.most:
                raise KeyboardInterrupt
            self.prepare(cell)
            self.made[at, attempt] = {} if at in self.failing else self._drawn(at)
        return self.made[at, attempt]

    def _drawn(self, at: int) -> Figures:
        level = sum(math.log1p(effect) for place, effect in self.culprits.items() if place <= at)
        at_run, change = self.jump
        level += math.log1p(change) if len(self.made) >= at_run else 0.0
        # The offset of a build is always the same.
        level += self.layout * float(np.random.default_rng(at).normal())
        slower, costlier = self._draws.next().tolist()
        return {
            QPS: 1000.0 * math.exp(level - slower),
            CPU: 50.0 * math.exp(-level + costlier),
        }


def simulated_cells(count: int) -> list[Cell]:
    """Return the cells of as many commits, c0, c1, ..., that only a simulated machine measures."""
    return [
        Cell(
            revision=Revision(target="sqlite", version=f"c{at}", order=(at,), major=""),
            build_options="rel_o2nofp",
            config=ServerConfig(family="wal", name="wal_c2r8", text=""),
            machine_class="simulated",
            workload=Workload(
                family="sysbench",
                name="simulated",
                version="1",
                scale=Scale(tables=1, rows=1000, clients=1, measure=1, warmup=0),
                steps=(Step(name="insert", group="writes", unit="queries"),),
            ),
        )
        for at in range(count)
    ]


@dataclass(frozen=True)
class Kind:
    """What is simulated: changes of throughput and the noise of runs and of builds."""

    effects: tuple[float, ...]
    shape: str = "normal"
    noise: Noise = NORMAL
    layout: float = 0.0
    jump: tuple[float, float] = (math.inf, 0.0)

    def __str__(self) -> str:
        effects = " and ".join(f"{effect:.0%}" for effect in self.effects) or "none"
        return (
            f"{effects} | {self.shape} | {self.noise.scale:.1%} | {self.layout:.1%} | "
            f"{self.noise.drift:.2%}"
        )


def kinds(real: Mapping[tuple[str, str], Noise]) -> Iterator[Kind]:
    """Yield what is simulated: normal noise, then that of real runs of each target, at 2 %."""
    yield Kind((-0.05,))
    yield Kind((-0.03,))
    yield Kind((-0.05,), layout=0.003)
    yield Kind((-0.05,), noise=replace(NORMAL, drift=0.0005))
    yield Kind((-0.05,), "normal, spikes", noise=replace(NORMAL, spikes=0.02, spike=15.0))
    for run in JUMPS:
        yield Kind((-0.05,), f"normal, -3% from run {run} on", jump=(run, -0.03))
    yield Kind((-0.05, -0.05))
    yield Kind(())
    for (target, metric), noise in real.items():
        if metric == QPS.metric:
            for effects in ((-0.05,), (-0.03,), (-0.05, -0.05), ()):
                yield Kind(effects, target, noise.scaled(NORMAL.scale))
    for (target, metric), noise in real.items():
        # At the scale that was measured, where it does not hide a change of 5 %.
        if metric == CPU.metric and noise.scale < 0.05:
            yield Kind((-0.05,), f"{target} {metric}", noise)


def once(kind: Kind, random: np.random.Generator) -> tuple[list[int], Bisected]:
    """Simulate a line and bisect it; return its culprits and what was found."""
    places = sorted(random.choice(np.arange(1, COUNT), len(kind.effects), replace=False).tolist())
    line = SimulatedLine(
        culprits=dict(zip(places, kind.effects, strict=True)),
        random=random,
        noise=kind.noise,
        layout=kind.layout,
        jump=kind.jump,
        dead=set(np.flatnonzero(random.random(COUNT) < DEAD).tolist()) - {0, COUNT - 1},
    )
    cells = simulated_cells(COUNT)
    return places, bisect(cells, (QPS,), line, lambda _: None, smallest=SMALLEST)


def row(kind: Kind, trials: int, seed: int) -> str:
    """Return the row of a kind: how its searches ended."""
    random = np.random.default_rng(seed)
    results = [once(kind, random) for _ in range(trials)]
    all_named = wrong = 0
    for places, found in results:
        named = [
            (int(each.parent[1:]), int(each.culprit[1:])) for each in found.found if each.confirmed
        ]
        held = [any(first < at <= last for first, last in named) for at in places]
        all_named += bool(places) and all(held)
        wrong += any(not any(first < at <= last for at in places) for first, last in named)
    outcomes = [found.outcome for _, found in results]
    ranges, none = outcomes.count("range"), outcomes.count("no change")
    builds = [found.builds for _, found in results]
    runs = [found.runs for _, found in results]
    return (
        f"| {kind} | {Rate(all_named, trials)} | {Rate(wrong, trials)} | {ranges / trials:.3f} | "
        f"{Rate(none, trials)} | {np.mean(builds):.1f} / {max(builds)} | {np.mean(runs):.0f} / "
        f"{np.quantile(runs, 0.9):.0f} |"
    )


def table(trials: int, seed: int) -> Iterator[str]:
    """Yield the table as markdown."""
    yield (
        "| effect | noise | of a run | of a build | drift in a run | all culprits named | another "
        "named | only a range | no change | builds, mean / most | runs, mean / p90 |"
    )
    yield "| --- |" + " --- |" * 10
    for kind in kinds(fitted()):
        yield row(kind, trials, seed)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bisection", description="Bisect simulated lines of commits."
    )
    parser.add_argument("--trials", type=int, default=200, help="lines per row (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="of the simulation (default 1)")
    options = parser.parse_args()
    if options.trials < 1 or options.seed < 0:
        parser.error("--trials must be at least 1 and --seed not negative")
    for text in table(options.trials, options.seed):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
