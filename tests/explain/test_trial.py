"""Trials on a simulated machine: what settings cost is known, and the noise is drawn."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from pipeline.experiments.experiment import Figure, Figures
from pipeline.explain.settings import Suspect
from pipeline.explain.trial import Trial, TrialOutcome, causes, try_settings
from pipeline.model import Cell, Revision, Scale, ServerConfig, Workload
from pipeline.targets.base.configurations import NotASettingError

QPS = Figure("s", "qps")


def cell(version: str) -> Cell:
    return Cell(
        revision=Revision(target="t", version=version, order=(1,), major="1"),
        build_options="o",
        config=ServerConfig(family="f", name="f", text=""),
        machine_class="m",
        workload=Workload(
            family="sysbench",
            name="w",
            version="1",
            scale=Scale(tables=1, rows=1, clients=1, measure=1, warmup=0),
            steps=(),
        ),
    )


class Simulated:
    """A machine on which the new revision is slower by the factors of its new values."""

    def __init__(self, costs: Mapping[str, float], code: float = 1.0, refused: str = "") -> None:
        self.costs, self.code, self.refused = costs, code, refused
        self.drawn = random.Random(7)
        self.order: list[tuple[str, str, int]] = []

    def prepare(self, cell: Cell) -> None: ...

    def built(self, cell: Cell) -> bool:
        return True

    def measure(self, cell: Cell, attempt: int) -> Figures:
        self.order.append((cell.revision.version, cell.config.text, attempt))
        noise = self.drawn.lognormvariate(0.0, 0.005)
        # A machine that becomes slower all the time.
        drift = 0.998 ** len(self.order)
        level = 1000.0 * noise * drift
        if cell.revision.version == "old":
            return {QPS: level}
        if self.refused and self.refused in cell.config.text:
            return {}
        for name, factor in self.costs.items():
            if f"{name}=" not in cell.config.text:
                level *= factor
        return {QPS: level * self.code}


def with_setting(config: ServerConfig, name: str, value: str) -> ServerConfig:
    if name.startswith("compiled"):
        raise NotASettingError(name)
    return config.model_copy(update={"text": f"{config.text}{name}={value}\n"})


def tried(machine: Simulated, *names: str, blocks: int = 4) -> tuple[Trial, ...]:
    suspects = [Suspect(name=name, old="0", new="1") for name in names]
    return try_settings(machine, cell("old"), cell("new"), suspects, QPS, with_setting, blocks)


def named(trial: Trial) -> str:
    return ",".join(suspect.name for suspect in trial.suspects)


def test_one_of_many_is_found_by_halving() -> None:
    names = [f"s{number}" for number in range(8)]
    trials = tried(Simulated({"s5": 0.8}), *names)
    assert [named(trial) for trial in causes(trials)] == ["s5"]
    assert len(trials) <= 7
    (cause,) = causes(trials)
    assert cause.share == pytest.approx(1.0, abs=0.1)
    assert cause.low is not None and cause.high is not None
    assert cause.low < 1.0 < cause.high


def test_what_the_code_costs_is_not_taken_back() -> None:
    trials = tried(Simulated({}, code=0.8), "a", "b")
    assert [trial.outcome for trial in trials] == [TrialOutcome.INNOCENT]
    assert causes(trials) == ()


def test_a_setting_beside_the_code_explains_a_part() -> None:
    (trial,) = tried(Simulated({"a": 0.95}, code=0.8), "a")
    assert trial.outcome is TrialOutcome.PART
    assert trial.share == pytest.approx(0.19, abs=0.07)


def test_two_that_cost_only_together_are_named_together() -> None:
    class Together(Simulated):
        def measure(self, cell: Cell, attempt: int) -> Figures:
            level = super().measure(cell, attempt)[QPS]
            new = cell.revision.version == "new" and not cell.config.text
            return {QPS: level * (0.7 if new else 1.0)}

    trials = tried(Together({}), "a", "b")
    # Either of them takes all of it back, and each is said so.
    assert [named(trial) for trial in causes(trials)] == ["a", "b"]


def test_an_old_value_that_does_not_start_leaves_the_others_to_be_tried() -> None:
    trials = tried(Simulated({"b": 0.8}, refused="a="), "a", "b")
    outcomes = {named(trial): trial.outcome for trial in trials}
    assert outcomes == {
        "a,b": TrialOutcome.FAILED,
        "a": TrialOutcome.FAILED,
        "b": TrialOutcome.CAUSE,
    }
    assert trials[0].sentence() == "with a = '0', b = '0': does not run with the old value"


def test_a_change_that_is_not_seen_again_is_explained_by_nothing() -> None:
    (trial,) = tried(Simulated({}), "a")
    assert trial.outcome is TrialOutcome.GONE


def test_what_no_configuration_can_set_is_not_tried() -> None:
    machine = Simulated({"a": 0.8})
    assert tried(machine, "compiled.CC") == ()
    assert machine.order == []
    assert [named(trial) for trial in tried(machine, "compiled.CC", "a")] == ["a"]


class Costly(Simulated):
    """A machine of which every run that was not made before takes ten seconds."""

    def __init__(self, costs: Mapping[str, float]) -> None:
        super().__init__(costs)
        self.now = 0.0
        self.kept: dict[tuple[str, str, int], Figures] = {}

    def measure(self, cell: Cell, attempt: int) -> Figures:
        run = (cell.revision.version, cell.config.text, attempt)
        if run not in self.kept:
            self.now += 10.0
            self.kept[run] = super().measure(cell, attempt)
        return self.kept[run]


def within(machine: Costly, seconds: float) -> tuple[Trial, ...]:
    suspects = [Suspect(name=name, old="0", new="1") for name in "ab"]
    return try_settings(
        machine,
        cell("old"),
        cell("new"),
        suspects,
        QPS,
        with_setting,
        4,
        seconds,
        lambda: machine.now,
    )


def test_no_block_is_begun_that_would_end_too_late() -> None:
    machine = Costly({"b": 0.8})
    (first,) = within(machine, 70.0)
    assert (machine.now, first.blocks) == (60.0, 2)
    # One block is always measured, and says nothing yet.
    alone = Costly({"b": 0.8})
    (trial,) = within(alone, 0.0)
    assert (alone.now, trial.blocks, trial.outcome) == (30.0, 1, TrialOutcome.UNDECIDED)


def test_it_goes_on_where_the_time_was_over() -> None:
    machine = Costly({"b": 0.8})
    for _ in range(6):
        within(machine, 70.0)
    whole = within(machine, 1000.0)
    spent = machine.now
    assert [named(trial) for trial in causes(whole)] == ["b"]
    assert {trial.blocks for trial in whole} == {4}
    assert len(machine.kept) == 3 * 4 * len(whole)
    assert within(machine, 0.0) == whole
    assert machine.now == spent


def test_blocks_turn_their_order_round_and_every_run_is_a_new_one() -> None:
    machine = Simulated({"a": 0.8})
    tried(machine, "a", "b", blocks=2)
    first = [(version, bool(text)) for version, text, _ in machine.order[:6]]
    assert first == [
        ("old", False),
        ("new", True),
        ("new", False),
        ("new", False),
        ("new", True),
        ("old", False),
    ]
    assert len(set(machine.order)) == len(machine.order)
