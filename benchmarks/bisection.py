"""How often bisecting a line ends rightly and what it costs, on simulated machines.

A simulated machine measures the commits of a line, of which one in ten does not build, with the
noise that it is told; :func:`pipeline.analyse.bisect.bisect` does the rest, from the comparison of
the ends to that of the culprit with its parent. The shares have 95 % limits (Clopper and Pearson).

    python -m benchmarks.bisection --trials 200 --seed 6000
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from changepoint.evaluate.measure import Rate
from pipeline.analyse.bisect import Bisected, bisect
from pipeline.analyse.experiment import Figure, Figures
from pipeline.execute.build import NotBuiltError
from pipeline.model import Cell, Revision, Scale, ServerConfig, Step, Workload

COUNT = 1024
DEAD = 0.1
"""Part of the commits that do not build."""

SMALLEST = 0.02
QPS, CPU = Figure("insert", "qps"), Figure("insert", "cpu_us/o")


@dataclass
class SimulatedLine:
    """A :class:`Runner` whose runs take no time.

    ``culprits`` are the relative changes of throughput, by position; CPU per operation changes
    inversely. Positions in ``dead`` do not build, those in ``failing`` yield no figures, those in
    ``there`` are built already. ``noise`` is the deviation of the logarithm of a figure between
    runs, ``layout`` that between builds, ``drift`` the change of the machine in one run. Attempts
    that were made are kept in ``made``, as bundles are; the one after ``most`` is interrupted.
    """

    culprits: Mapping[int, float]
    random: np.random.Generator
    noise: float = 0.01
    layout: float = 0.0
    drift: float = 0.0
    dead: Collection[int] = ()
    failing: Collection[int] = ()
    there: set[int] = field(default_factory=set)
    made: dict[tuple[int, int], Figures] = field(default_factory=dict)
    most: float = math.inf

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
        level += self.drift * len(self.made)
        # The offset of a build is always the same.
        level += self.layout * float(np.random.default_rng(at).normal())
        noise = self.random.normal(0.0, self.noise, 2)
        return {QPS: 1000.0 * math.exp(level + noise[0]), CPU: 50.0 * math.exp(-level + noise[1])}


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
    noise: float = 0.02
    layout: float = 0.0
    drift: float = 0.0

    def __str__(self) -> str:
        effects = " and ".join(f"{effect:.0%}" for effect in self.effects) or "none"
        return f"{effects} | {self.noise:.1%} | {self.layout:.1%} | {self.drift:.2%}"


KINDS: Sequence[Kind] = (
    Kind((-0.05,)),
    Kind((-0.03,)),
    Kind((-0.05,), layout=0.003),
    Kind((-0.05,), drift=-0.0005),
    Kind((-0.05, -0.05)),
    Kind(()),
)


def once(kind: Kind, random: np.random.Generator) -> tuple[list[int], Bisected]:
    """Simulate a line and bisect it; return its culprits and what was found."""
    places = sorted(random.choice(np.arange(1, COUNT), len(kind.effects), replace=False).tolist())
    line = SimulatedLine(
        culprits=dict(zip(places, kind.effects, strict=True)),
        random=random,
        noise=kind.noise,
        layout=kind.layout,
        drift=kind.drift,
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
        "| effect | noise of a run | of a build | drift in a run | all culprits named | another "
        "named | only a range | no change | builds, mean / most | runs, mean / p90 |"
    )
    yield "| --- |" + " --- |" * 9
    for kind in KINDS:
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
