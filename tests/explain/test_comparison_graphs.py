"""Flame graphs of a comparison: counted instructions become stacks, without loss."""

from __future__ import annotations

import pytest

from pipeline.explain.comparison_graphs import counted_stacks
from tests.explain.test_call_tree import AFTER, BEFORE, counts


def test_stacks_hold_all_instructions_of_both_sides() -> None:
    stacks = counted_stacks(BEFORE, AFTER)
    assert sum(stacks.base.values()) == pytest.approx(BEFORE.instructions, abs=2)
    assert sum(stacks.head.values()) == pytest.approx(AFTER.instructions, abs=2)
    assert stacks.cost == pytest.approx(1000 / 1200)
    grown = {name: stacks.head[name] - stacks.base[name] for name in stacks.head}
    assert max(grown, key=lambda name: grown[name]).endswith("sort;compare")


def test_what_is_too_small_for_a_frame_belongs_to_its_caller() -> None:
    side = counts({"scan": 999.0, "tiny": 1.0}, {("scan", "tiny"): 1.0})
    assert counted_stacks(side, side).base == {"scan": 1000}


def test_a_build_without_calls_has_no_stacks() -> None:
    side = counts({"scan": 999.0}, {})
    assert counted_stacks(side, side).base == {}
