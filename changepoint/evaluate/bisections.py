"""Simulate bisections: how often the culprit is found, with how many builds and runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from changepoint.bisection.search import BUILD_COST, Bisection
from changepoint.comparison.sequential import Sequential
from changepoint.evaluate.measure import Rate
from changepoint.evaluate.simulate import LEVEL, NOISES, SeriesShape

COUNT = 1024
"""Revisions of a line, both ends included: ten halvings."""
UNBUILDABLE = 0.1
"""Probability that a revision does not build."""

SMALLEST = 0.02
"""Smallest effect of interest, at which the ends are compared."""

CONFIDENCE = 0.99
"""Probability at which a search ends, and confidence of the comparison of the ends."""
MOST_PAIRS = 100
"""Pairs of runs after which the ends count as undecided."""

MOST_RUNS = 500
"""Runs after which a search is abandoned."""


@dataclass(frozen=True, slots=True)
class SimulatedLine:
    """What a simulated line is like: the effects of its culprits, and its noise.

    ``sigma`` is the noise of a run and ``layout`` that of a build, as fractions of the level.
    """

    effects: tuple[float, ...] = (0.05,)
    noise: str = "gauss"
    sigma: float = 0.02
    layout: float = 0.0

    def __str__(self) -> str:
        effects = " and ".join(f"{effect:.0%}" for effect in self.effects) or "none"
        return f"{effects} | {self.noise} | {self.sigma:.1%} | {self.layout:.1%}"


LINES: Sequence[SimulatedLine] = (
    SimulatedLine(),
    SimulatedLine((0.03,)),
    SimulatedLine(noise="t3"),
    SimulatedLine(noise="spikes"),
    SimulatedLine(noise="bimodal", sigma=0.01),
    SimulatedLine(noise="AR(.5)"),
    SimulatedLine(noise="drift"),
    SimulatedLine(layout=0.003),
    SimulatedLine((0.03,), layout=0.003),
    SimulatedLine((0.03,), sigma=0.005, layout=0.003),
    SimulatedLine((0.3,)),
)


class World:
    """One simulated line: where its culprits are, what builds, and what runs return."""

    def __init__(self, line: SimulatedLine, random: np.random.Generator) -> None:
        """Draw the random properties of a line: culprits, builds that fail, and noise."""
        self.culprits = sorted(random.choice(np.arange(1, COUNT), len(line.effects), False))
        self._shift = np.zeros(COUNT)
        for at, effect in zip(self.culprits, line.effects, strict=True):
            self._shift[at:] += math.log1p(-effect)
        self._shift += random.normal(0.0, 1.0, COUNT) * line.layout
        self._dead = random.random(COUNT) < UNBUILDABLE
        self._dead[[0, COUNT - 1]] = False
        # In the order of measurement, so that drift and memory apply in that order.
        self._noise = iter(NOISES[line.noise](random, SeriesShape(20_000, 1))[:, 0] * line.sigma)
        self.built = {0, COUNT - 1}
        self.builds = self.runs = 0

    def build(self, position: int) -> bool:
        """Build a revision for the first time; return whether that works."""
        if position not in self.built:
            self.builds += 1
            if self._dead[position]:
                return False
            self.built.add(position)
        return True

    def run(self, position: int) -> float:
        """Return the value of one more run of a revision."""
        self.runs += 1
        return LEVEL * math.exp(self._shift[position] + max(next(self._noise), -0.9))


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a simulated bisection found, and the runs it took."""

    last_good: int
    first_bad: int
    done: bool
    end_runs: int

    def holds(self, culprit: int) -> bool:
        """Whether the result names this culprit."""
        return self.last_good < culprit <= self.first_bad


def search(world: World, low: int, high: int) -> SearchResult | None:
    """Bisect a simulated line, or return None if its two ends do not measurably differ."""
    before = world.runs
    ends = Sequential(smallest_effect=SMALLEST, limit=MOST_PAIRS, confidence=CONFIDENCE)
    bisection = Bisection(high - low + 1, confidence=CONFIDENCE)
    while not ends.decision.done:
        good, bad = world.run(low), world.run(high)
        ends.add(good, bad)
        bisection.add(0, {"value": good})
        bisection.add(high - low, {"value": bad})
    if ends.decision.verdict not in ("better", "worse"):
        return None
    shown = world.runs
    while not bisection.culprit.done and world.runs < shown + MOST_RUNS:
        costs = [0.0 if at in world.built else BUILD_COST for at in range(low, high + 1)]
        at = bisection.next(costs)
        if world.build(low + at):
            bisection.add(at, {"value": world.run(low + at)})
        else:
            bisection.skip(at)
    culprit = bisection.culprit
    return SearchResult(
        low + culprit.last_good, low + culprit.first_bad, culprit.done, shown - before
    )


def search_all(world: World, low: int, high: int) -> list[SearchResult]:
    """Bisect a simulated line, and then both sides of the result."""
    found = search(world, low, high) if high > low else None
    if found is None:
        return []
    left = search_all(world, low, found.last_good)
    return [*left, found, *search_all(world, found.first_bad, high)]


def bisection_table(trials: int, seed: int) -> Iterator[str]:
    """Yield a table: how well bisection works, by kind of line."""
    yield (
        "| effect | noise | of a run | of a build | found | wrong | given up | no change "
        "| builds, mean/most | runs of the ends | runs of the search, mean/p90 |"
    )
    yield "| --- |" + " --- |" * 10
    for line in LINES:
        yield one_culprit(line, trials, seed)
    yield ""
    yield two_culprits(trials, seed)
    yield no_culprit(trials, seed)


def one_culprit(line: SimulatedLine, trials: int, seed: int) -> str:
    """Return the results for lines with one culprit."""
    random = np.random.default_rng(seed)
    worlds = [World(line, random) for _ in range(trials)]
    pairs = [(world, search(world, 0, COUNT - 1)) for world in worlds]
    found = [(world, each) for world, each in pairs if each is not None]
    right = sum(each.done and each.holds(world.culprits[0]) for world, each in found)
    given_up = sum(not each.done for _, each in found)
    builds = [world.builds for world, _ in found]
    runs = [world.runs - each.end_runs for world, each in found]
    return (
        f"| {line} | {Rate(right, trials)} | {Rate(len(found) - right - given_up, trials)} "
        f"| {given_up / trials:.3f} | {1.0 - len(found) / trials:.3f} "
        f"| {np.mean(builds):.1f} / {max(builds)} "
        f"| {np.mean([each.end_runs for _, each in found]):.0f} "
        f"| {np.mean(runs):.0f} / {np.quantile(runs, 0.9):.0f} |"
    )


def two_culprits(trials: int, seed: int) -> str:
    """Return the results for lines with two culprits of the same size."""
    random = np.random.default_rng(seed)
    worlds = [World(SimulatedLine((0.05, 0.05)), random) for _ in range(trials)]
    both = wrong = 0
    for world in worlds:
        found = search_all(world, 0, COUNT - 1)
        both += all(any(each.holds(at) for each in found) for at in world.culprits)
        wrong += any(not any(each.holds(at) for at in world.culprits) for each in found)
    return (
        f"two culprits of 5 %: both found {Rate(both, trials)}, another named "
        f"{Rate(wrong, trials)}, {np.mean([world.builds for world in worlds]):.1f} builds, "
        f"{np.mean([world.runs for world in worlds]):.0f} runs"
    )


def no_culprit(trials: int, seed: int) -> str:
    """Return the results for lines without a culprit."""
    random = np.random.default_rng(seed)
    worlds = [World(SimulatedLine(()), random) for _ in range(trials)]
    none = sum(search(world, 0, COUNT - 1) is None for world in worlds)
    return (
        f"no culprit: no change {Rate(none, trials)}, "
        f"{np.mean([world.runs for world in worlds]):.0f} runs"
    )
