"""Machines of one class, held against those that it began with."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.environment.fit import fit
from pipeline.environment.noise import deviations
from pipeline.environment.offsets import MachineOffset, machine_offsets, variance_between
from pipeline.environment.panel import Panel
from tests.environment.panels import panel


def stand(*panels: Panel) -> list[MachineOffset]:
    noise = deviations(panels)
    return machine_offsets(
        [(each, fit(each.means, (), of)) for each, of in zip(panels, noise, strict=True)]
    )


def machine(name: str, level: float, **more: int) -> Panel:
    return panel(lambda figure, night: level, machine=name, seed=hash_of(name), **more)  # type: ignore[arg-type]


def hash_of(name: str) -> int:
    return sum(map(ord, name))


def test_a_machine_alone_is_its_class() -> None:
    (one,) = stand(machine("a", 8.0))
    assert not one.offsets.any()


def test_machines_are_apart_from_the_one_in_the_middle() -> None:
    low, middle, high = stand(machine("a", 7.97), machine("b", 8.0), machine("c", 8.04))
    assert np.abs(low.offsets + 0.03).max() < 0.004
    assert np.abs(middle.offsets).max() < 0.002
    assert np.abs(high.offsets - 0.04).max() < 0.004


def test_equal_machines_are_moved_by_next_to_nothing() -> None:
    found = stand(*(machine(name, 8.0) for name in "abc"))
    assert max(np.abs(one.offsets).max() for one in found) < 0.001


def test_one_that_comes_later_moves_no_other() -> None:
    first = [machine("a", 7.97), machine("b", 8.0), machine("c", 8.04)]
    before = stand(*first)
    after = stand(*first, machine("d", 9.0, first=50, nights=50))
    for old, new in zip(before, after, strict=False):
        # The variance between machines is of all, so offsets are shrunk a little less.
        assert np.abs(old.offsets - new.offsets).max() < 1e-3
    assert after[3].offsets.min() > 0.98


def test_one_night_says_less_than_a_month() -> None:
    first = [machine("a", 7.99), machine("b", 8.0), machine("c", 8.01)]
    young = stand(*first, machine("d", 8.01, first=99, nights=1))[3]
    old = stand(*first, machine("d", 8.01, first=70, nights=30))[3]
    assert np.abs(young.offsets).mean() < 0.8 * np.abs(old.offsets).mean()


def test_classes_have_nothing_to_do_with_one_another() -> None:
    other = panel(lambda figure, night: 9.0, machine="b")
    other = Panel(
        other.place._replace(machine_class="ccx33"),
        other.figures,
        other.nights,
        other.began,
        other.values,
        other.prints,
    )
    for one in stand(machine("a", 8.0), other):
        assert not one.offsets.any()


@pytest.mark.parametrize("between", [0.0, 0.01, 0.05])
def test_the_variance_between_machines_is_estimated(between: float) -> None:
    drawn = np.random.default_rng(5)
    errors = np.full(40, 0.01)
    found = [
        variance_between(drawn.normal(0, np.hypot(between, errors)), errors) for _ in range(400)
    ]
    assert np.mean(found) == pytest.approx(between**2, rel=0.05, abs=2e-5)
