"""Layout trials on a simulated machine: what each layout costs is known, the noise is drawn."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from pipeline.experiments.experiment import Figure, Figures
from pipeline.explain.layout_trial import CacheMisses, LayoutOutcome, LayoutTrial, try_layouts
from pipeline.measure.layouts import FLAGS
from pipeline.model import Cell
from tests.explain.test_trial import cell

CPU = Figure("s", "cpu_us/o")
OLD, NEW = cell("old"), cell("new")
BLOCKS = 4


@dataclass
class Machine:
    """A machine on which builds take the given times per operation, by revision and options."""

    costs: Mapping[tuple[str, str], float]
    noise: float = 0.005
    failing: frozenset[str] = frozenset()
    drawn: random.Random = field(default_factory=lambda: random.Random(11))
    order: list[tuple[str, str, int]] = field(default_factory=list)

    def prepare(self, cell: Cell) -> None: ...

    def built(self, cell: Cell) -> bool:
        return True

    def measure(self, cell: Cell, attempt: int) -> Figures:
        self.order.append((cell.revision.version, cell.build_options, attempt))
        if cell.build_options in self.failing:
            return {}
        usual = {"old": 100.0, "new": 110.0}[cell.revision.version]
        drift = 1.001 ** len(self.order)
        level = self.costs.get((cell.revision.version, cell.build_options), usual)
        return {CPU: level * drift * self.drawn.lognormvariate(0.0, self.noise)}


def tried(machine: Machine, blocks: int = BLOCKS) -> LayoutTrial:
    return try_layouts(machine, OLD, NEW, CPU, blocks)


def test_what_every_layout_shows_stays() -> None:
    machine = Machine({})
    trial = tried(machine)
    assert trial.outcome is LayoutOutcome.STAYS
    assert not trial.moves
    assert (trial.last_good, trial.first_bad) == ("old", "new")
    assert [share.old for share in trial.shares] == [True, False] * len(FLAGS)
    assert trial.sentences() == (
        "the change of cpu_us/o is the same in every layout (4 blocks with 4 other layouts)",
    )
    first, second = machine.order[:6], machine.order[6:12]
    assert [each[:2] for each in second] == [each[:2] for each in reversed(first)]
    assert first[0][:2] == ("old", "o") and first[-1][:2] == ("new", "o")


@pytest.mark.parametrize(
    ("costs", "who"),
    [
        ({("new", "o~1"): 100.0}, "new (o~1) is at "),
        ({("new", "o~2"): 103.0}, "new (o~2) is at "),
        ({("old", "o~2"): 110.0}, "old (o~2) is at "),
        ({("old", "o~1"): 110.0, ("new", "o~1"): 100.0}, "old (o~1) is at "),
    ],
)
def test_what_one_other_layout_reverses_moves(
    costs: Mapping[tuple[str, str], float], who: str
) -> None:
    trial = tried(Machine(costs))
    assert trial.outcome is LayoutOutcome.MOVES
    assert trial.sentences()[1].startswith(who)


def test_a_layout_of_a_part_of_the_change_proves_nothing() -> None:
    assert tried(Machine({("new", "o~1"): 106.0})).outcome is not LayoutOutcome.MOVES
    part = tried(Machine({("new", "o~1"): 105.2}))
    assert part.outcome is LayoutOutcome.UNDECIDED


def test_a_change_that_is_not_there_is_gone() -> None:
    trial = tried(Machine({("new", "o"): 100.0, ("new", "o~1"): 100.0, ("new", "o~2"): 100.0}))
    assert trial.outcome is LayoutOutcome.GONE
    assert trial.shares == ()


def test_a_layout_that_does_not_run_leaves_the_trial_undecided() -> None:
    trial = tried(Machine({}, failing=frozenset({"o~2"})))
    assert trial.outcome is LayoutOutcome.UNDECIDED
    assert len(trial.shares) == 2


def test_the_time_ends_the_blocks() -> None:
    ticks = itertools.count()
    trial = try_layouts(Machine({}), OLD, NEW, CPU, BLOCKS, 1.0, lambda: float(next(ticks)))
    assert trial.blocks == 1


@pytest.mark.parametrize("noise", [0.002, 0.01])
def test_hardly_any_change_of_the_code_is_taken_for_one_of_the_layout(noise: float) -> None:
    outcomes = [
        tried(Machine({}, noise=noise, drawn=random.Random(seed))).outcome for seed in range(100)
    ]
    assert outcomes.count(LayoutOutcome.MOVES) <= 2
    if noise == 0.002:
        assert outcomes.count(LayoutOutcome.STAYS) >= 95


def test_misses_grow_as_logarithms() -> None:
    double = CacheMisses(metric="ll_misses/o", before=1.5, after=3.0)
    assert double.growth == pytest.approx(0.6931, abs=1e-3)
    assert double.sentence() == "simulated ll_misses/o 1.5 -> 3 (+100.0%)"
    assert CacheMisses(metric="ll_misses/o", before=0.0, after=3.0).growth == 0.0
