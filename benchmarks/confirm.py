"""What confirming costs and how often it errs, on simulated machines.

A simulated machine measures base, head and control with the noise, the drift, the spikes and the
failures that it is told. The figures: verdicts with 95 % limits (Clopper and Pearson), and the runs
that were made, controls included. Beside their mean over an even mix (no change and 5 %, noise of
1 % and 2 %) stands the fixed number of repetitions, of base and head alone and without any control,
that reaches the same error rates on the same mix: as many unchanged revisions rejected and as many
changes of 5 % confirmed, by Student's t at the same confidence. And the one that only tells no
change from 5 % and excludes nothing.

    python -m benchmarks.confirm --trials 1000 --seed 6000
    python -m benchmarks.confirm --kinds --trials 300 --seed 6000
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import beta
from scipy.stats import t as student

from pipeline.analyse.confirm import Verdict, verdict_of
from pipeline.analyse.experiment import Figure, Figures
from pipeline.analyse.interleaved import MISSED, WRONG, Pair, Question, interleave
from pipeline.analyse.regressions import SLA
from pipeline.execute.build import NotBuiltError
from pipeline.model import Cell, RegressionKind, Revision, Scale, ServerConfig, Step, Workload

SMALLEST = 0.02
LARGE = -0.05
NOISES = (0.01, 0.02)
RUN_SECONDS = 20.0
"""What a simulated run takes."""

BASE, CONTROL, HEAD = "17.0", "17.0#2", "17.1"
"""The labels of what a simulated machine measures."""

MOST_REPETITIONS = 100

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
    ``noise`` is the deviation of the logarithm of a figure between runs, ``common`` the part of
    its variance that all figures of a run share, ``drift`` the change of the machine in one run,
    and ``spikes`` the share of runs that lose a quarter. ``louder`` are the factors of the noise of
    a label, and ``missed`` the shares of its runs that miss their SLA, whose figure is "sla".
    """

    figures: Collection[Figure]
    random: np.random.Generator
    noise: float = 0.01
    common: float = 0.5
    drift: float = 0.0
    spikes: float = 0.0
    changes: Mapping[str, float] = field(default_factory=dict)
    failing: Mapping[str, Collection[str]] = field(default_factory=dict)
    louder: Mapping[str, float] = field(default_factory=dict)
    missed: Mapping[str, float] = field(default_factory=dict)
    dead: Collection[str] = ()
    runs: list[tuple[str, int]] = field(default_factory=list)

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
        level += self.drift * len(self.runs)
        if self.random.random() < self.spikes:
            level += math.log(0.75)
        shared = math.sqrt(self.common) * self.random.normal()
        own = math.sqrt(1.0 - self.common) * self.random.normal(size=len(self.figures))
        noise = self.noise * self.louder.get(label, 1.0)
        return {
            figure: self._kept(label)
            if figure.metric == SLA
            else math.exp(level + noise * (shared + one))
            for figure, one in zip(self.figures, own.tolist(), strict=True)
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


def confirmed(
    effect: float, noise: float, trials: int, seed: int, *, steps: int = 1, spikes: float = 0.0
) -> Confirmed:
    """Confirm a change of this size in the throughput of all of some steps, many times."""
    question = asked(RegressionKind.LEVEL, simulated_figures(steps))
    return became(question, trials, seed, noise=noise, spikes=spikes, changes={HEAD: effect})


def asked(kind: RegressionKind, figures: tuple[Figure, ...]) -> Question:
    """Return the question whether something became worse, without a limit of time."""
    return Question(
        figures=figures, kind=kind, smallest_effect=SMALLEST, seconds=math.inf, only="worse"
    )


def became(question: Question, trials: int, seed: int, **told: Any) -> Confirmed:
    """Ask a question many times, of simulated machines that are told this."""
    pair = simulated_pair()
    verdicts: Counter[Verdict] = Counter()
    runs = 0
    for trial in range(trials):
        random = np.random.default_rng((seed, trial))
        machine = SimulatedMachine(question.figures, random, **told)
        verdicts[verdict_of(interleave(machine, pair, question, machine.clock))] += 1
        runs += len(machine.runs)
    return Confirmed(verdicts, trials, runs / trials)


def fixed_runs(
    noises: Sequence[float], rejected: float, found: float, trials: int, seed: int
) -> int:
    """Return the runs of the smallest fixed number of repetitions that errs no more often.

    noises: those of an even mix, for all of which one number has to serve; rejected: the share of
    unchanged revisions of which the smallest effect is to be excluded; found: the share of those
    that changed by ``LARGE`` that is to be confirmed.
    """
    random = np.random.default_rng(seed)
    for each in range(2, MOST_REPETITIONS):
        excluded = shown = 0.0
        for noise in noises:
            base, head = noise * random.normal(size=(2, trials, each))
            middle = head.mean(axis=1) - base.mean(axis=1)
            error = np.sqrt((base.var(axis=1, ddof=1) + head.var(axis=1, ddof=1)) / each)
            low = middle - error * student.isf(MISSED, 2 * each - 2)
            changed = middle + math.log1p(LARGE)
            high = changed + error * student.isf(WRONG, 2 * each - 2)
            excluded += (np.expm1(low) > -SMALLEST).mean() / len(noises)
            shown += ((high < 0.0) & (np.expm1(changed) <= -SMALLEST)).mean() / len(noises)
        if excluded >= rejected and shown >= found:
            return 2 * each
    raise ValueError(f"more than {MOST_REPETITIONS} repetitions are needed")


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
            told = {"noise": SPREAD_NOISE, "spikes": spikes, "louder": {HEAD: ratio}}
            print(f"| {spikes:.0%} | {ratio} | {_row(became(spread, trials, seed, **told))}")
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
    print("| noise | steps | spikes | effect | confirmed | rejected | undecided | moved | runs |")
    print("| --- |" + " --- |" * 8)
    mix: dict[tuple[float, float], Confirmed] = {}
    for noise, steps, spikes in (
        *((noise, steps, 0.0) for noise in NOISES for steps in (1, 4)),
        (NOISES[0], 1, 0.02),
    ):
        for effect in (0.0, -0.01, -0.02, -0.03, LARGE):
            got = confirmed(effect, noise, trials, seed, steps=steps, spikes=spikes)
            if steps == 1 and not spikes:
                mix[noise, effect] = got
            print(
                f"| {noise:.0%} | {steps} | {spikes:.0%} | {effect:.0%} | "
                f"{limits(got.verdicts.get('confirmed', 0), trials)} | "
                f"{got.share('rejected'):.3f} | {got.share('undecided'):.3f} | "
                f"{got.share('environment'):.3f} | {got.runs:.1f} |",
                flush=True,
            )
    rejected = sum(mix[noise, 0.0].share("rejected") for noise in NOISES) / len(NOISES)
    found = sum(mix[noise, LARGE].share("confirmed") for noise in NOISES) / len(NOISES)
    runs = sum(mix[noise, effect].runs for noise in NOISES for effect in (0.0, LARGE))
    mean = runs / (2 * len(NOISES))
    fixed = fixed_runs(NOISES, rejected, found, 4 * trials, seed)
    blind = fixed_runs(NOISES, 0.0, found, 4 * trials, seed)
    print(
        f"even mix: {mean:.1f} runs; {fixed} with fixed repetitions and the same errors, "
        f"share {mean / fixed:.2f}; {blind} if nothing has to be excluded"
    )


if __name__ == "__main__":
    main()
