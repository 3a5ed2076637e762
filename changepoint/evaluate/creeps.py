"""Simulate creep: false ones on stable lines, and how early and reliably true ones are found.

As in real nights, each line is searched again after every new position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from changepoint.api import detect
from changepoint.detection.creep import Creep, creep
from changepoint.evaluate.measure import Rate
from changepoint.evaluate.nightly import SIGMA
from changepoint.evaluate.simulate import NOISES, Noise, SeriesShape, draw
from changepoint.series import Floats

STABLE = (SeriesShape(60, 1), SeriesShape(60, 3))
"""Shapes of stable lines."""
SMALLEST = 0.05
"""The default of ``[detect] creep``."""
ANY_SIZE = 1e-6
"""Smallest size of a creep that excludes none, to measure the test alone."""
RELEASES = SeriesShape(11, 3)
"""Shape of a creeping line: the base release and ten further ones, each with three runs."""
LOSS = 0.005
"""Loss of each release of a creeping line, as a fraction."""
LOSS_SIGMA = 1.0
"""Noise of a value of a creeping line, in percent."""
LOSS_SMALLEST = 0.02
"""Smallest size from which the creep of a creeping line is reported, as a fraction."""
FOUND_BY = (6, 7, 8, 10)
"""Numbers of further releases after which the share of found creeps is printed."""
SPREADS = (0.0, 0.005, 0.01)
"""Standard deviations of the loss of single releases around ``LOSS``."""
JUMP, JUMP_AT = -0.08, 6
"""Size of a real step on top of the creep, and the number of the release that it comes with."""

SEARCHED = 300
"""Maximum number of creeping lines that detection searches for steps."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Results of simulated creeping lines: found creeps, and how often intervals hold the truth.

    found: share of lines found by each release of ``FOUND_BY``. whole: share of found lines in
    which the interval of the whole creep contains the truth. each: share of single contributions
    whose interval contains their true loss. sums: share of found lines whose contributions and
    remainder sum to the whole.
    """

    found: tuple[Rate, ...]
    whole: Rate
    each: Rate
    sums: Rate


def grown(values: Floats, shape: SeriesShape) -> Iterator[Creep | None]:
    """Search a growing simulated line for creep after each position."""
    labels = shape.labels()
    for count in range(1, shape.positions + 1):
        stop = count * shape.replicates
        yield creep(values[:stop], positions=labels[:stop], smallest=ANY_SIZE)


def false(noise: Noise, shape: SeriesShape, trials: int, seed: int) -> tuple[Rate, Rate]:
    """Return how many stable lines show a creep of any size, and of at least ``SMALLEST``."""
    random = np.random.default_rng(seed)
    creeps = large = 0
    for _ in range(trials):
        found = list(grown(draw(noise, shape, random, sigma=SIGMA), shape))
        creeps += any(found)
        large += any(one is not None and one.effect <= -SMALLEST for one in found)
    return Rate(creeps, trials), Rate(large, trials)


def creeping(noise: Noise, spread: float, jump: float, trials: int, seed: int) -> Measured:
    """Simulate lines that become slower with each release, and search them for creep.

    spread: deviation of the losses around ``LOSS``. jump: size of an additional step at
    ``JUMP_AT``, which counts as already reported.
    """
    random = np.random.default_rng(seed)
    shape, labels = RELEASES, RELEASES.labels()
    first, exact, whole, single = [], 0, 0, [0, 0]
    for _ in range(trials):
        losses = -LOSS + spread * random.normal(size=shape.positions)
        losses[0] = 0.0
        if jump:
            # What comes with the jump beyond the others' loss is the jump's.
            losses[JUMP_AT] = -LOSS
        levels = np.exp(np.cumsum(losses))
        stepped = np.where(np.arange(shape.positions) >= JUMP_AT, 1.0 + jump, 1.0)
        values = draw(noise, shape, random, sigma=LOSS_SIGMA) * np.repeat(
            levels * stepped, shape.replicates
        )
        changes = [JUMP_AT] if jump else []
        found = None
        for count in range(1, shape.positions + 1):
            stop = count * shape.replicates
            got = creep(
                values[:stop], positions=labels[:stop], changes=changes, smallest=LOSS_SMALLEST
            )
            if got is not None and found is None:
                first.append(count - 1)
            found = got or found
        if found is None:
            continue
        last = int(found.position)
        truth = float(levels[last] - 1.0)
        whole += found.effect_interval[0] <= truth <= found.effect_interval[1]
        parts = [one for one in found.contributions if not one.step]
        exact += abs(sum(one.effect for one in parts) + found.remainder - found.effect) < 1e-9
        scale = truth / float(np.log(levels[last]))
        single[0] += sum(
            one.interval[0] <= scale * losses[int(one.position)] <= one.interval[1] for one in parts
        )
        single[1] += len(parts)
    lines = max(len(first), 1)
    return Measured(
        tuple(Rate(sum(at <= by for at in first), trials) for by in FOUND_BY),
        Rate(whole, lines),
        Rate(single[0], max(single[1], 1)),
        Rate(exact, lines),
    )


def stepwise(trials: int, seed: int) -> Rate:
    """Return in how many creeping lines detection reports a single step."""
    random = np.random.default_rng(seed)
    levels = np.repeat((1.0 - LOSS) ** np.arange(RELEASES.positions), RELEASES.replicates)
    hits = 0
    for _ in range(trials):
        values = draw(NOISES["gauss"], RELEASES, random, sigma=LOSS_SIGMA) * levels
        hits += bool(detect(values, positions=RELEASES.labels(), min_effect=0.03).changes)
    return Rate(hits, trials)


def creep_table(trials: int, seed: int, kinds: Sequence[str]) -> Iterator[str]:
    """Yield tables: false creeps by noise, and how well true creeps are found."""
    shapes = [f"{shape}, {name}" for shape in STABLE for name in ("any size", f"{SMALLEST:.0%}")]
    yield f"| stable lines | {' | '.join(shapes)} |"
    yield "| --- |" + " --- |" * len(shapes)
    for name in kinds:
        rates = [str(rate) for shape in STABLE for rate in false(NOISES[name], shape, trials, seed)]
        yield f"| {name} | {' | '.join(rates)} |"
    columns = [f"found by {-by * LOSS:.1%}" for by in FOUND_BY]
    yield ""
    yield f"| ten of -.5 % | {' | '.join(columns)} | whole | each | sums |"
    yield "| --- |" + " --- |" * (len(columns) + 3)
    for name in kinds:
        for spread in SPREADS:
            for jump in (0.0, JUMP):
                got = creeping(NOISES[name], spread, jump, trials, seed)
                kind = f"{name}, deviation {spread:.1%}" + (
                    f", a step of {jump:.0%}" if jump else ""
                )
                rates = [
                    f"{rate.value:.3f}" for rate in (*got.found, got.whole, got.each, got.sums)
                ]
                yield f"| {kind} | {' | '.join(rates)} |"
    yield ""
    steps = stepwise(min(trials, SEARCHED), seed)
    yield f"Lines of ten of -.5 % in which detection reports a step: {steps}"
