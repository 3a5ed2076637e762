"""Print the error rates of comparisons that docs/guide/comparing.md quotes."""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from changepoint.api import detect
from changepoint.comparison import sign_bets
from changepoint.comparison.sequential import Sequential
from changepoint.comparison.two_samples import compare
from changepoint.comparison.verdict import Verdict
from changepoint.detection import joint_test
from changepoint.detection.pooled import pooled
from changepoint.evaluate.measure import Rate
from changepoint.evaluate.simulate import LEVEL, NOISES, Noise, SeriesShape
from changepoint.series import Floats

KINDS = ("gauss", "t3", "bimodal", "spikes", "quantised", "coarse")
SIGMA = 1.0
"""Noise of a run in percent of the level."""

SMALLEST = 0.03
"""The smallest effect of interest, as a fraction: three times ``SIGMA``."""

SIDES: Sequence[tuple[int, int]] = ((2, 2), (3, 3), (5, 5), (10, 10), (3, 10))
"""Numbers of runs of the two sides."""
LIMIT = 60
"""Pairs after which a sequential comparison ends."""

POOLED_LADDERS = (SeriesShape(60, 1), SeriesShape(10, 3))


@dataclass(frozen=True, slots=True)
class Compared:
    """Simulated comparisons of one true effect: how often intervals contain it, and verdicts."""

    covered: Rate
    verdicts: Mapping[Verdict, Rate]


@dataclass(frozen=True, slots=True)
class Stopped:
    """Simulated comparisons in blocks: the verdicts, and after how many blocks."""

    verdicts: Mapping[Verdict, Rate]
    median: float
    p90: float


def compared(
    noise: Noise, sides: tuple[int, int], effect: float, trials: int, seed: int
) -> Compared:
    """Simulate comparisons in which head differs from base by ``effect``."""
    random = np.random.default_rng(seed)
    covered = 0
    verdicts: Counter[Verdict] = Counter()
    for _ in range(trials):
        runs = _runs(noise, sum(sides), random)
        base, head = runs[: sides[0]], runs[sides[0] :] * (1.0 + effect)
        got = compare(base, head, smallest_effect=SMALLEST)
        covered += got.effect_interval[0] <= effect <= got.effect_interval[1]
        verdicts[got.verdict] += 1
    return Compared(Rate(covered, trials), _rates(verdicts, trials))


def sampled(
    runs: int, samples: int, memory: float, between: float, trials: int, seed: int
) -> tuple[Rate, Rate]:
    """Simulate comparisons of correlated samples; return how often intervals hold the truth.

    Each run has ``samples`` samples with normal noise of 3 % whose neighbours correlate by
    ``memory``, every fiftieth a stall to half the level; runs differ by ``between`` percent. The
    second rate is that of Welch's interval of all samples of a side, treated as independent.
    """
    random = np.random.default_rng(seed)
    covered = naive = 0
    for _ in range(trials):
        sides = [_samples(runs, samples, memory, between, random) for _ in range(2)]
        got = compare(*sides, smallest_effect=SMALLEST)
        covered += got.effect_interval[0] <= 0.0 <= got.effect_interval[1]
        gap = float(np.mean(sides[1]) - np.mean(sides[0]))
        error = math.sqrt(sum(float(np.var(side)) / side.size for side in sides))
        naive += abs(gap) <= 1.96 * error
    return Rate(covered, trials), Rate(naive, trials)


def stopped(noise: Noise, effect: float, trials: int, seed: int) -> Stopped:
    """Simulate comparisons in pairs of runs until each is done."""
    random = np.random.default_rng(seed)
    verdicts: Counter[Verdict] = Counter()
    blocks = []
    for _ in range(trials):
        pairs = _runs(noise, 2 * LIMIT, random).reshape(LIMIT, 2) * (1.0, 1.0 + effect)
        comparison = Sequential(smallest_effect=SMALLEST, limit=LIMIT)
        for base, head in pairs.tolist():
            if comparison.add(base, head).done:
                break
        verdicts[comparison.decision.verdict] += 1
        blocks.append(comparison.decision.blocks)
    median, p90 = np.quantile(blocks, [0.5, 0.9], method="inverted_cdf")
    return Stopped(_rates(verdicts, trials), float(median), float(p90))


def ever_missed(noise: Noise, trials: int, seed: int) -> Rate:
    """Return how often any of the intervals after each block misses the true effect."""
    random = np.random.default_rng(seed)
    missed = 0
    for _ in range(trials):
        pairs = np.log(_runs(noise, 2 * LIMIT, random).reshape(LIMIT, 2))
        values = pairs[:, 1] - pairs[:, 0]
        guess = math.log1p(SMALLEST)
        scales = np.array([sign_bets.next_scale(values[:i], guess) for i in range(LIMIT)])
        wealth = max(
            sign_bets.log_wealth(sign * values[:i], scales[:i], 0.0)
            for i in range(1, LIMIT + 1)
            for sign in (-1.0, 1.0)
        )
        missed += wealth >= math.log(2.0 / 0.05)
    return Rate(missed, trials)


def pooled_rates(
    noise: Noise,
    ladder: SeriesShape,
    shared: float,
    step: float,
    changing: int,
    trials: int,
    seed: int,
) -> tuple[Rate, Rate]:
    """Simulate groups of six series, some with a common step; return how often it is found.

    shared: share of the variance that the series of a run have in common. Returns the rates of
    groups with any change, and with one within a tenth of the positions from the step.
    """
    found = near = 0
    labels = ladder.labels().tolist()
    middle = ladder.positions // 2
    for group in _groups(noise, ladder, shared, step, changing, trials, seed):
        changes = pooled(group, positions=labels).changes
        found += bool(changes)
        near += any(abs(int(c.position) - middle) <= ladder.positions // 10 for c in changes)
    return Rate(found, trials), Rate(near, trials)


def unpooled(
    noise: Noise,
    ladder: SeriesShape,
    shared: float,
    step: float,
    changing: int,
    trials: int,
    seed: int,
) -> Rate:
    """Return how often the same steps are found if each series is searched alone.

    Each series has a sixth of the alarm probability, so that the group alarms no more often.
    """
    labels = ladder.labels().tolist()
    found = 0
    for group in _groups(noise, ladder, shared, step, changing, trials, seed):
        found += any(
            detect(
                values, positions=labels, alarms_per_1000=0.5 / len(group), method="edivisive"
            ).changes
            for values in group.values()
        )
    return Rate(found, trials)


def shuffle_levels(
    noise: Noise, shared: float, levels: Sequence[float], trials: int, seed: int
) -> tuple[Rate, ...]:
    """Return how often the joint test reaches each p-value in unchanged series."""
    hits = np.zeros(len(levels), dtype=np.int64)
    ladder = SeriesShape(20, 1)
    for group in _groups(noise, ladder, shared, 0.0, 0, trials, seed):
        values = np.stack(list(group.values())[:3], axis=1)
        pvalue, _, _ = joint_test.split(joint_test.scores(values), np.arange(21), 4999, 0)
        hits += pvalue <= np.array(levels)
    return tuple(Rate(int(h), trials) for h in hits)


def _groups(
    noise: Noise,
    ladder: SeriesShape,
    shared: float,
    step: float,
    changing: int,
    trials: int,
    seed: int,
) -> Iterator[dict[str, Floats]]:
    random = np.random.default_rng(seed)
    stepped = (ladder.positions // 2) * ladder.replicates
    for _ in range(trials):
        common = noise(random, ladder).reshape(-1, 1)
        own = np.stack([noise(random, ladder).ravel() for _ in range(6)], axis=1)
        deviation = math.sqrt(shared) * common + math.sqrt(1.0 - shared) * own
        values = LEVEL + 2.0 * deviation
        values[stepped:, :changing] *= 1.0 + step
        yield {f"{i}": values[:, i] for i in range(6)}


def _rates(verdicts: Counter[Verdict], trials: int) -> Mapping[Verdict, Rate]:
    names: tuple[Verdict, ...] = ("better", "worse", "same", "undecided")
    return MappingProxyType({name: Rate(verdicts[name], trials) for name in names})


def _runs(noise: Noise, count: int, random: np.random.Generator) -> Floats:
    return LEVEL + SIGMA * noise(random, SeriesShape(count, 1)).ravel()


def _samples(
    runs: int, samples: int, memory: float, between: float, random: np.random.Generator
) -> Floats:
    """Return simulated samples of runs, one for each second."""
    noise = random.normal(size=(runs, samples))
    fresh = math.sqrt(1.0 - memory * memory)
    for i in range(1, samples):
        noise[:, i] = memory * noise[:, i - 1] + fresh * noise[:, i]
    values = LEVEL + 3.0 * noise + between * random.normal(size=(runs, 1))
    values[random.random((runs, samples)) < 0.02] *= 0.5
    return values


def compare_table(trials: int, seed: int) -> Iterator[str]:
    """Yield a table: how often intervals contain the effect, and verdicts, by noise and size."""
    yield "| noise | runs | covered | no change: changed | same | -6 %: worse | better or same |"
    yield "| --- |" + " --- |" * 6
    for kind in KINDS:
        for sides in SIDES:
            none = compared(NOISES[kind], sides, 0.0, trials, seed)
            loss = compared(NOISES[kind], sides, -2.0 * SMALLEST, trials, seed + 1)
            both = Rate(
                none.covered.hits + loss.covered.hits, none.covered.trials + loss.covered.trials
            )
            changed, wrong = (
                Rate(a.hits + b.hits, trials)
                for a, b in (
                    (none.verdicts["better"], none.verdicts["worse"]),
                    (loss.verdicts["better"], loss.verdicts["same"]),
                )
            )
            yield (
                f"| {kind} | {sides[0]}v{sides[1]} | {both} | {changed} | "
                f"{none.verdicts['same'].value:.3f} | {loss.verdicts['worse'].value:.3f} | "
                f"{wrong} |"
            )


def samples_table(trials: int, seed: int) -> Iterator[str]:
    """Yield a table: how often our and Welch's intervals for correlated samples are right."""
    yield "| runs | samples | memory | between runs | covered | samples taken as independent |"
    yield "| --- |" + " --- |" * 5
    for runs in (2, 3, 5):
        for samples, memory in ((60, 0.0), (60, 0.8), (300, 0.8)):
            for between in (0.0, 1.0):
                ours, naive = sampled(runs, samples, memory, between, trials, seed)
                yield (
                    f"| {runs}v{runs} | {samples} | {memory:g} | {between:g} % | {ours} | "
                    f"{naive.value:.3f} |"
                )


def sequential_table(trials: int, seed: int) -> Iterator[str]:
    """Yield a table: verdicts of comparisons in blocks, and when, by noise and effect."""
    yield (
        "| noise | ever missed | effect | better | worse | same | undecided | median blocks | p90 |"
    )
    yield "| --- |" + " --- |" * 8
    for kind in KINDS:
        missed = str(ever_missed(NOISES[kind], trials, seed))
        for effect in (0.0, -SMALLEST / 2.0, -SMALLEST, -2.0 * SMALLEST):
            got = stopped(NOISES[kind], effect, trials, seed + 1)
            shares = " | ".join(
                f"{got.verdicts[v].value:.3f}" for v in ("better", "worse", "same", "undecided")
            )
            yield (
                f"| {kind} | {missed} | {effect:.1%} | {shares} | {got.median:g} | {got.p90:g} |"
            )
            missed = ""


def pooled_table(trials: int, seed: int) -> Iterator[str]:
    """Yield a table: how often pooled detection finds steps and raises false alarms."""
    yield "| noise | series | shared | no change: alarms | 2 % in six: near | 4 % in three: near |"
    yield "| --- |" + " --- |" * 5
    for kind in (*KINDS[:5], "position .5"):
        for ladder in POOLED_LADDERS:
            for shared in (0.0, 0.5):
                options = NOISES[kind], ladder, shared
                none, _ = pooled_rates(*options, 0.0, 6, trials, seed)
                # Recall is not small: a fifth of the groups suffices.
                fewer = max(trials // 5, 1)
                _, six = pooled_rates(*options, 0.02, 6, fewer, seed + 1)
                _, three = pooled_rates(*options, 0.04, 3, fewer, seed + 2)
                yield (
                    f"| {kind} | {ladder} | {shared:g} | {none} | {six.value:.2f} | "
                    f"{three.value:.2f} |"
                )


def shuffles_table(trials: int, seed: int) -> Iterator[str]:
    """Yield a table: how often unchanged groups reach a p-value, by noise."""
    levels = (0.001, 0.005, 0.05)
    yield "| noise | " + " | ".join(f"p <= {level:g}" for level in levels) + " |"
    yield "| --- |" + " --- |" * len(levels)
    for kind in KINDS:
        rates = shuffle_levels(NOISES[kind], 0.5, levels, trials, seed)
        yield f"| {kind} | " + " | ".join(map(str, rates)) + " |"


def alone_table(trials: int, seed: int) -> Iterator[str]:
    """Yield a table: how often steps are found by a pooled search, and in each series alone."""
    yield "| series | shared | step | pooled | alone |"
    yield "| --- |" + " --- |" * 4
    for ladder in POOLED_LADDERS:
        for shared in (0.0, 0.5):
            for step, changing in ((0.02, 6), (0.04, 3)):
                options = NOISES["gauss"], ladder, shared, step, changing, trials, seed
                found, _ = pooled_rates(*options)
                yield (
                    f"| {ladder} | {shared:g} | {step:.0%} in {changing} of 6 | {found.value:.2f} "
                    f"| {unpooled(*options).value:.2f} |"
                )


TABLES: Mapping[str, Callable[[int, int], Iterator[str]]] = MappingProxyType(
    {
        "compare": compare_table,
        "samples": samples_table,
        "sequential": sequential_table,
        "pooled": pooled_table,
        "shuffles": shuffles_table,
        "alone": alone_table,
    }
)


def main() -> None:
    """Print one table of error rates as markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m changepoint.evaluate.comparing",
        description="Simulate comparisons and print coverage and error rates with 95 % limits.",
        epilog="example: python -m changepoint.evaluate.comparing compare --trials 200 --seed 1",
    )
    parser.add_argument("table", choices=TABLES, help="which table to print")
    parser.add_argument(
        "--trials",
        type=int,
        default=1000,
        help="simulated comparisons for each printed figure (default 1000)",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the simulation (default 1)")
    options = parser.parse_args()
    if options.trials < 1 or options.seed < 0:
        parser.error("--trials must be at least 1 and --seed at least 0")
    for line in TABLES[options.table](options.trials, options.seed):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
