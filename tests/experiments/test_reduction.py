"""Delta debugging keeps a small part that still has the property."""

from __future__ import annotations

import random

import pytest

from pipeline.experiments.reduction import smallest


def test_nothing_is_kept_where_nothing_is_needed() -> None:
    asked: list[tuple[int, ...]] = []

    def has(kept: tuple[int, ...]) -> bool:
        asked.append(kept)
        return True

    assert smallest(range(20), has) == ()
    assert asked == [()]


@pytest.mark.parametrize("seed", range(30))
def test_exactly_what_is_needed_is_kept_in_order(seed: int) -> None:
    chance = random.Random(seed)
    items = range(chance.randint(1, 25))
    needed = set(chance.sample(items, chance.randint(1, min(4, len(items)))))
    asked: list[tuple[int, ...]] = []

    def has(kept: tuple[int, ...]) -> bool:
        asked.append(kept)
        return needed <= set(kept)

    assert smallest(items, has) == tuple(sorted(needed))
    # Whether all of them have the property is known before.
    assert tuple(items) not in asked


def test_no_single_item_can_be_left_out() -> None:
    def has(kept: tuple[int, ...]) -> bool:
        return sum(kept) >= 40

    kept = smallest(range(12), has)
    assert has(kept)
    for place in range(len(kept)):
        assert not has(kept[:place] + kept[place + 1 :])
