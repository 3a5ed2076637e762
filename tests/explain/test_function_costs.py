"""Functions that a change of counted instructions comes from, and cost that only moved."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pipeline.explain.function_costs import function_cost_changes, instructions_sentence
from pipeline.model import FunctionCost, StepCounts

Costs = Mapping[str, tuple[float, float]]
"""Own and inclusive cost by function."""

BEFORE = {
    "main": (10.0, 1000.0),
    "scan": (300.0, 990.0),
    "fetch": (490.0, 690.0),
    "hash": (200.0,) * 2,
}


def counts(costs: Costs, binary: str = "engine.so") -> StepCounts:
    return StepCounts(
        operations=(1, 2),
        instructions=sum(own for own, _ in costs.values()),
        functions=tuple(
            FunctionCost(function=name, binary=binary, self_cost=own, inclusive_cost=inclusive)
            for name, (own, inclusive) in costs.items()
        ),
    )


def shares(after: Costs, before: Costs = BEFORE) -> dict[str, float]:
    changes = function_cost_changes(counts(before), counts(after))
    return {each.function: round(each.share, 3) for each in changes}


def test_the_function_that_grew_comes_first() -> None:
    grown = {**BEFORE, "main": (10.0, 1100.0), "scan": (310.0, 1090.0), "fetch": (580.0, 780.0)}
    assert shares(grown) == {"fetch": 0.9, "scan": 0.1}
    assert list(shares(grown)) == ["fetch", "scan"]


REFACTORED: Mapping[str, Costs] = {
    "renamed": {**{n: c for n, c in BEFORE.items() if n != "hash"}, "hash_bytes": (200.0, 200.0)},
    "split": {**BEFORE, "fetch": (200.0, 690.0), "fetch_slow": (290.0, 490.0)},
    "inlined": {
        "main": (10.0, 1000.0),
        "scan": (300.0, 990.0),
        "fetch": (690.0, 690.0),
    },
    "cloned": {**BEFORE, "fetch": (90.0, 690.0), "fetch.part.0": (400.0, 600.0)},
}


@pytest.mark.parametrize("name", REFACTORED)
def test_a_refactoring_at_an_equal_total_is_no_change(name: str) -> None:
    assert shares(REFACTORED[name]) == {}


@pytest.mark.parametrize("name", REFACTORED)
def test_beside_a_refactoring_the_grown_function_is_named(name: str) -> None:
    after = dict(REFACTORED[name])
    after["scan"], after["main"] = (350.0, 1040.0), (10.0, 1050.0)
    assert shares(after) == {"scan": 1.0}


def test_a_function_that_grew_while_it_was_split_keeps_its_growth() -> None:
    after = {**BEFORE, "main": (10.0, 1080.0), "scan": (300.0, 1070.0)}
    after |= {"fetch": (200.0, 770.0), "fetch_slow": (370.0, 570.0)}
    assert shares(after) == {"fetch_slow": 1.0}


def test_new_versions_of_a_library_have_the_same_functions() -> None:
    before, after = counts(BEFORE, "libengine.so.1.2"), counts(BEFORE, "libengine.so.1.3")
    more = after.model_copy(update={"instructions": after.instructions * 1.1})
    assert function_cost_changes(before, more) == ()


def test_savings_counteract() -> None:
    after = {**BEFORE, "scan": (500.0, 1090.0), "fetch": (390.0, 590.0)}
    assert shares(after) == {"scan": 2.0, "fetch": -1.0}


def test_a_sentence_names_the_largest_parts() -> None:
    before, after = (
        StepCounts(operations=(1, 2), instructions=level, functions=counts(costs).functions)
        for level, costs in (
            (1000.0, BEFORE),
            (
                1437.0,
                {
                    **BEFORE,
                    "fetch": (802.0, 1100.0),
                    "hash": (298.0, 298.0),
                    "scan": (327.0, 1400.0),
                },
            ),
        )
    )
    said = instructions_sentence("rows", before, after, function_cost_changes(before, after))
    assert said == "+43.7 % instructions per row: fetch +31.2, hash +9.8, scan +2.7"
    assert instructions_sentence("queries", before, after, ()) == "+43.7 % instructions per query"
