"""What confirming costs and how often it errs, on simulated machines.

A simulated machine measures base, head and control with given noise and failures:
normal noise, and noise as it was fitted to real runs (:mod:`benchmarks.noise`). The figures:
verdicts with 95 % limits (Clopper and Pearson), and the runs that were made, controls included.
Beside their mean over an even mix (no change and 5 %, noise of 1 % and 2 %) stands the fixed number
of repetitions, of base and head alone and without any control, that reaches
the same error rates on the same mix: as many unchanged revisions rejected and as many changes of
5 % confirmed, by Student's t at the same confidence. And the one that only tells no change from 5 %
and excludes nothing.

    python -m benchmarks.confirm --trials 1000 --seed 6000
    python -m benchmarks.confirm --kinds --trials 300 --seed 6000
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.stats import beta
from scipy.stats import t as student

from benchmarks.noise import Draws, Noise, fitted
from changepoint.series import Floats
from pipeline.experiments.confirm import Verdict, verdict_of
from pipeline.experiments.experiment import Figure, Figures
from pipeline.experiments.interleaved import MISSED, WRONG, Pair, Question, interleave
from pipeline.measure.build import NotBuiltError
from pipeline.model import Cell, RegressionKind, Revision, Scale, ServerConfig, Step, Workload
from pipeline.model.metrics import is_worse
from pipeline.regressions.watched import SLA

SMALLEST = 0.02
LARGE = -0.05
EFFECTS = (0.0, -0.02, -0.03, LARGE)
NORMAL = Noise(0.01)
SCALES = (0.01, 0.02)
"""Of the noise of a run, in the even mix."""

RUN_SECONDS = 20.0
"""What a simulated run takes."""

BASE, CONTROL, HEAD = "17.0", "17.0#2", "17.1"
"""The labels of what a simulated machine measures."""

MOST_REPETITIONS = 300

SPIKE = 0.288
"""What a spike takes from the logarithm of a figure: a quarter of it is lost."""

SPREAD_NOISE = 0.03
"""Noise of base where head may be louder."""

SLA_SHARES = (
    (0.0, 0.0),
    (0.1, 0.1),
    (0.5, 0.5),
    (1.0, 1.0),
    (0.0, 0.25),
    (0.0, 0.5),
    (0.25, 0.75),
    (0.1, 0.9),
    (0.0, 1.0),
)
"""Shares of runs of base and of head that miss their SLA."""


@dataclass
class SimulatedMachine:
    """A :class:`Runner` whose runs take no time.

    ``changes`` are the relative changes of a cell's figures, by the label of its revision; a step
    in ``failing`` fails for the labels that it lists, and the labels in ``dead`` have no build.
    ``noise`` is how runs differ. ``louder`` are the factors of the noise of a label, and ``missed``
    the shares of its runs that miss their SLA, whose figure is "sla".
    """

    figures: Collection[Figure]
    random: np.random.Generator
    noise: Noise = NORMAL
    changes: Mapping[str, float] = field(default_factory=dict)
    failing: Mapping[str, Collection[str]] = field(default_factory=dict)
    louder: Mapping[str, float] = field(default_factory=dict)
    missed: Mapping[str, float] = field(default_factory=dict)
    dead: Collection[str] = ()
    runs: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin the noise."""
        self._draws = Draws(self.noise, len(self.figures), self.random)

    def prepare(self, cell: Cell) -> None:
        """Refuse a build that is dead."""
        if cell.revision.label in self.dead:
            raise NotBuiltError(f"{cell.revision.label} does not compile")

    def built(self, cell: Cell) -> bool:
        """Every build that is not dead is there."""
        return cell.revision.label not in self.dead

    def measure(self, cell: Cell, attempt: int) -> Figures:
        """Draw the figures of one run."""
        self.prepare(cell)
        label = cell.revision.label
        self.runs.append((label, attempt))
        level = math.log(1000.0) + math.log1p(self.changes.get(label, 0.0))
        louder = self.louder.get(label, 1.0)
        return {
            figure: self._kept(label)
            if figure.metric == SLA
            else math.exp(level + louder * (worse if is_worse(figure.metric, 1.0) else -worse))
            for figure, worse in zip(self.figures, self._draws.next().tolist(), strict=True)
            if label not in self.failing.get(figure.step, ())
        }

    def _kept(self, label: str) -> float:
        """Draw the part of the target rate that work in the background had."""
        return 0.5 if self.random.random() < self.missed.get(label, 0.0) else 1.0

    def clock(self) -> float:
        """The seconds that its runs would have taken."""
        return RUN_SECONDS * len(self.runs)


def simulated_pair(target: str = "postgres") -> Pair:
    """Two revisions that only a simulated machine can measure."""

    def cell(minor: int) -> Cell:
        return Cell(
            revision=Revision(target=target, version=f"17.{minor}", order=(17, minor), major="17"),
            build_options="official",
            config=ServerConfig(family="x10a", name="x10a_c2r8", text=""),
            machine_class="simulated",
            workload=Workload(
                family="sysbench",
                name="simulated",
                version="1",
                scale=Scale(tables=1, rows=1000, clients=1, measure=1, warmup=0),
                steps=(Step(name="scan", group="scans", unit="rows"),),
            ),
        )

    return Pair(base=cell(0), head=cell(1))


def simulated_figures(count: int) -> tuple[Figure, ...]:
    """Return the throughput of so many steps."""
    return tuple(Figure(f"step{number}", "qps") for number in range(count))


@dataclass(frozen=True)
class Confirmed:
    """What became of many trials: how often each verdict, and the mean number of runs."""

    verdicts: Mapping[Verdict, int]
    trials: int
    runs: float

    def share(self, verdict: Verdict) -> float:
        """How often it was this verdict, as a fraction."""
        return self.verdicts.get(verdict, 0) / self.trials


def confirmed(effect: float, noise: Noise, trials: int, seed: int, *, steps: int = 1) -> Confirmed:
    """Confirm a change of this size in the throughput of all of some steps, many times."""
    question = asked(RegressionKind.LEVEL, simulated_figures(steps))
    return became(question, trials, seed, noise=noise, changes={HEAD: effect})


def asked(kind: RegressionKind, figures: tuple[Figure, ...]) -> Question:
    """Return the question whether something became worse, without a limit of time."""
    return Question(
        figures=figures, kind=kind, smallest_effect=SMALLEST, seconds=math.inf, only="worse"
    )


def became(question: Question, trials: int, seed: int, **reported: Any) -> Confirmed:
    """Ask a question many times, of simulated machines that are told this."""
    pair = simulated_pair()
    verdicts: Counter[Verdict] = Counter()
    runs = 0
    for trial in range(trials):
        random = np.random.default_rng((seed, trial))
        machine = SimulatedMachine(question.figures, random, **reported)
        verdicts[verdict_of(interleave(machine, pair, question, machine.clock))] += 1
        runs += len(machine.runs)
    return Confirmed(verdicts, trials, runs / trials)


def fixed_runs(
    noises: Sequence[Noise], rejected: float, found: float, trials: int, seed: int
) -> int:
    """Return the runs of the smallest fixed number of repetitions that errs no more often.

    noises: those of an even mix, for all of which one number has to serve, without spikes;
    rejected: the share of unchanged revisions of which the smallest effect is to be excluded;
    found: the share of those that changed by ``LARGE`` that is to be confirmed.
    """
    random = np.random.default_rng(seed)
    # A figure of its own for each trial. Base and head take turns, every other pair backwards.
    draws = [Draws(replace(noise, common=0.0), trials, random) for noise in noises]
    pairs = [
        -np.array([(draw.next(), draw.next())[:: 1 - 2 * (n % 2)] for n in range(MOST_REPETITIONS)])
        for draw in draws
    ]
    for each in range(2, MOST_REPETITIONS + 1):
        # The better of both that one may do: whether neighbours share much is not known before.
        for paired in (False, True):
            shares = [_shares(made[:each, 0], made[:each, 1], paired) for made in pairs]
            excluded, shown = np.mean(shares, axis=0)
            if excluded >= rejected and shown >= found:
                return 2 * each
    raise ValueError(f"more than {MOST_REPETITIONS} repetitions are needed")


def _shares(base: Floats, head: Floats, paired: bool) -> tuple[float, float]:
    """Return how often the smallest effect is excluded of what did not change, and LARGE shown.

    base, head: logarithms, (repetitions, trials), that differ by noise alone.
    """
    each = len(base)
    middle = head.mean(axis=0) - base.mean(axis=0)
    if paired:
        square, freedom = (head - base).var(axis=0, ddof=1), each - 1
    else:
        square, freedom = base.var(axis=0, ddof=1) + head.var(axis=0, ddof=1), 2 * each - 2
    error = np.sqrt(square / each)
    low = middle - error * student.isf(MISSED, freedom)
    changed = middle + math.log1p(LARGE)
    high = changed + error * student.isf(WRONG, freedom)
    excluded = np.expm1(low) > -SMALLEST
    shown = (high < 0.0) & (np.expm1(changed) <= -SMALLEST)
    return float(excluded.mean()), float(shown.mean())


def limits(hits: int, trials: int) -> str:
    """Write a share with its 95 % limits."""
    low = 0.0 if hits == 0 else float(beta.ppf(0.025, hits, trials - hits + 1))
    high = 1.0 if hits == trials else float(beta.ppf(0.975, hits + 1, trials - hits))
    return f"{hits / trials:.4f} ({low:.4f}-{high:.4f})"


def other_kinds(trials: int, seed: int) -> None:
    """Print the verdicts on changes of spread and of SLAs."""
    print("| spikes | ratio | confirmed | rejected | moved | runs |")
    print("| --- |" + " --- |" * 5)
    spread = asked(RegressionKind.SPREAD, simulated_figures(1))
    for spikes, ratios in ((0.0, (1.0, 1.5, 2.0, 3.0, 5.0)), (0.02, (1.0, 3.0))):
        for ratio in ratios:
            noise = replace(NORMAL, scale=SPREAD_NOISE, spikes=spikes, spike=SPIKE / SPREAD_NOISE)
            got = became(spread, trials, seed, noise=noise, louder={HEAD: ratio})
            print(f"| {spikes:.0%} | {ratio} | {_row(got)}")
    print("| base | head | confirmed | rejected | moved | runs |")
    print("| --- |" + " --- |" * 5)
    sla = asked(RegressionKind.SLA, (Figure("qr100", SLA),))
    for base, head in SLA_SHARES:
        missed = {BASE: base, CONTROL: base, HEAD: head}
        print(f"| {base:.0%} | {head:.0%} | {_row(became(sla, trials, seed, missed=missed))}")


def _row(got: Confirmed) -> str:
    shares = [f"{got.share(verdict):.3f}" for verdict in ("rejected", "environment")]
    confirmed = limits(got.verdicts.get("confirmed", 0), got.trials)
    return f"{confirmed} | {' | '.join(shares)} | {got.runs:.1f} |"


def main() -> None:
    """Print the verdicts, then the machine time beside that of fixed repetitions."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.confirm", description="Confirm simulated changes."
    )
    parser.add_argument("--trials", type=int, default=1000, help="of every figure (default 1000)")
    parser.add_argument("--seed", type=int, default=6000, help="of the simulation (default 6000)")
    parser.add_argument("--kinds", action="store_true", help="spread and SLA, in place of levels")
    options = parser.parse_args()
    trials, seed = options.trials, options.seed
    if options.kinds:
        other_kinds(trials, seed)
        return
    print("| noise | of a run | steps | effect | confirmed | rejected | undecided | moved | runs |")
    print("| --- |" + " --- |" * 8)
    real = fitted()
    shapes = {"normal": NORMAL} | {target: real[target, "qps"] for target, _ in real}
    mixes = [mix(name, noise, trials, seed) for name, noise in shapes.items()]
    spiked = replace(NORMAL, spikes=0.02, spike=SPIKE / NORMAL.scale)
    rows("normal, spikes", spiked, 1, EFFECTS, trials, seed)
    for (target, metric), noise in real.items():
        # At the scale that was measured, where it does not hide a change of 5 %.
        if metric == "cpu_us/o" and noise.scale < -LARGE:
            rows(f"{target} {metric}", noise, 1, EFFECTS, trials, seed)
    print()
    for text in mixes:
        print(text)


def rows(
    name: str, noise: Noise, steps: int, effects: Sequence[float], trials: int, seed: int
) -> Mapping[float, Confirmed]:
    """Print a row for each effect, and return them."""
    made = {}
    for effect in effects:
        got = made[effect] = confirmed(effect, noise, trials, seed, steps=steps)
        print(
            f"| {name} | {noise.scale:.1%} | {steps} | {effect:.0%} | "
            f"{limits(got.verdicts.get('confirmed', 0), trials)} | "
            f"{got.share('rejected'):.3f} | {got.share('undecided'):.3f} | "
            f"{got.share('environment'):.3f} | {got.runs:.1f} |",
            flush=True,
        )
    return made


def mix(name: str, noise: Noise, trials: int, seed: int) -> str:
    """Print the rows of one shape of noise; return what an even mix of them takes."""
    noises = [noise.scaled(scale) for scale in SCALES]
    made = []
    for each in noises:
        made.append(rows(name, each, 1, EFFECTS, trials, seed))
        rows(name, each, 4, (0.0, LARGE), trials, seed)
    rejected = sum(each[0.0].share("rejected") for each in made) / len(made)
    found = sum(each[LARGE].share("confirmed") for each in made) / len(made)
    mean = sum(each[effect].runs for each in made for effect in (0.0, LARGE)) / (2 * len(made))
    fixed = fixed_runs(noises, rejected, found, 4 * trials, seed)
    blind = fixed_runs(noises, 0.0, found, 4 * trials, seed)
    return (
        f"{name}, even mix: {mean:.1f} runs; {fixed} with fixed repetitions and the same errors, "
        f"share {mean / fixed:.2f}; {blind} if nothing has to be excluded"
    )


if __name__ == "__main__":
    main()
