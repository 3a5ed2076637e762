"""The call tree of a change: costs divided among callers, bounded, each frame behind its caller."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pipeline.explain.call_tree import LEAST_FRAME, MOST_FRAMES, CallFrame, call_tree
from pipeline.model import CallCost, FunctionCost, StepCounts

Own = Mapping[str, float]
Calls = Mapping[tuple[str, str], float]


def counts(own: Own, calls: Calls, binary: str = "postgres") -> StepCounts:
    """Return counts of functions, whose inclusive cost is their own and that of their calls."""
    names = list(own)
    return StepCounts(
        operations=(100, 200),
        instructions=sum(own.values()),
        functions=tuple(
            FunctionCost(
                function=name,
                binary=binary,
                self_cost=cost,
                inclusive_cost=cost + sum(c for (caller, _), c in calls.items() if caller == name),
            )
            for name, cost in own.items()
        ),
        calls=tuple(
            CallCost(names.index(caller), names.index(callee), cost)
            for (caller, callee), cost in calls.items()
        ),
    )


BEFORE = counts(
    {"main": 10.0, "scan": 300.0, "sort": 290.0, "compare": 400.0},
    {
        ("main", "scan"): 600.0,
        ("main", "sort"): 390.0,
        ("scan", "compare"): 300.0,
        ("sort", "compare"): 100.0,
    },
)
AFTER = counts(
    {"main": 10.0, "scan": 300.0, "sort": 290.0, "compare": 600.0},
    {
        ("main", "scan"): 600.0,
        ("main", "sort"): 590.0,
        ("scan", "compare"): 300.0,
        ("sort", "compare"): 300.0,
    },
)


def paths(frames: tuple[CallFrame, ...]) -> dict[tuple[str, ...], CallFrame]:
    """Return the frames by the names from the root to them."""
    found: list[tuple[str, ...]] = []
    for frame in frames:
        above = found[frame.parent] if frame.parent >= 0 else ()
        found.append((*above, frame.function))
    assert len(set(found)) == len(found)
    return dict(zip(found, frames, strict=True))


def test_the_cost_of_a_function_is_divided_among_its_callers() -> None:
    found = paths(call_tree(BEFORE, AFTER))
    assert {path[1:]: (frame.before, frame.after) for path, frame in found.items()} == {
        (): (1000.0, pytest.approx(1200.0)),
        ("main",): (pytest.approx(1000.0), pytest.approx(1200.0)),
        ("main", "scan"): (pytest.approx(600.0), pytest.approx(600.0)),
        ("main", "sort"): (pytest.approx(390.0), pytest.approx(590.0)),
        ("main", "scan", "compare"): (pytest.approx(300.0), pytest.approx(300.0)),
        ("main", "sort", "compare"): (pytest.approx(100.0), pytest.approx(300.0)),
    }
    assert found["", "main", "sort"].self_before == pytest.approx(290.0)


def test_own_costs_sum_to_those_of_the_functions() -> None:
    frames = call_tree(BEFORE, AFTER)
    for side, given in (("before", BEFORE), ("after", AFTER)):
        for function in given.functions:
            own = sum(
                getattr(frame, f"self_{side}")
                for frame in frames
                if frame.function == function.function
            )
            assert own == pytest.approx(function.self_cost)


def test_what_is_gone_and_what_is_new_both_have_frames() -> None:
    renamed = counts(
        {"main": 10.0, "scan": 300.0, "sort": 290.0, "cmp": 600.0},
        {
            ("main", "scan"): 900.0,
            ("main", "sort"): 290.0,
            ("scan", "cmp"): 600.0,
        },
    )
    found = paths(call_tree(BEFORE, renamed))
    assert (found["", "main", "scan", "compare"].after) == 0.0
    assert (found["", "main", "scan", "cmp"].before) == 0.0


def test_recursion_ends_and_keeps_its_cost() -> None:
    """Of 1000 instructions of an evaluator half are in calls of itself by way of another."""
    recursive = counts(
        {"main": 0.0, "eval": 800.0, "call": 200.0},
        {("main", "eval"): 1000.0, ("eval", "call"): 700.0, ("call", "eval"): 500.0},
    )
    frames = call_tree(recursive, recursive)
    top = next(frame for frame in frames if frame.function == "eval")
    assert top.before == pytest.approx(1000.0, rel=1e-3)
    own = sum(frame.self_before for frame in frames if frame.function == "eval")
    assert own == pytest.approx(800.0, rel=2 * LEAST_FRAME)


def test_the_start_of_a_program_is_left_out_and_frames_that_only_pass_on() -> None:
    """Callgrind gives two functions before main one name, and so a loop."""
    before = counts(
        {"(below main)": 0.0, "__libc_start_main@@GLIBC_2.34": 0.0, "main": 1.0, "serve": 1.0}
        | {"parse": 400.0, "execute": 598.0},
        {
            ("(below main)", "__libc_start_main@@GLIBC_2.34"): 1000.0,
            ("__libc_start_main@@GLIBC_2.34", "(below main)"): 1000.0,
            ("(below main)", "main"): 1000.0,
            ("main", "serve"): 999.0,
            ("serve", "parse"): 400.0,
            ("serve", "execute"): 598.0,
        },
    )
    found = paths(call_tree(before, before))
    assert list(found) == [
        ("",),
        ("", "serve"),
        ("", "serve", "execute"),
        ("", "serve", "parse"),
    ]


def test_a_function_with_many_small_callers_is_at_the_root() -> None:
    """Calls that are too cheap to be kept one by one may together be a tenth of the whole."""
    before = counts({"main": 100.0, "scan": 800.0, "palloc": 100.0}, {("main", "scan"): 800.0})
    found = paths(call_tree(before, before))
    assert found["", "palloc"].after == pytest.approx(100.0)
    assert found["", "main"].after == pytest.approx(900.0)


def test_there_is_a_bound_on_frames_and_each_is_behind_its_caller() -> None:
    names = [f"f{number}" for number in range(40)]
    own = {"main": 1.0} | dict.fromkeys(names, 10.0)
    calls = {("main", name): 40.0 for name in names}
    calls |= {(one, other): 1.0 for one in names for other in names if one < other}
    wide = counts(own, calls)
    frames = call_tree(wide, wide)
    assert len(frames) <= MOST_FRAMES
    assert all(frame.parent < at for at, frame in enumerate(frames))
    assert frames[0].parent == -1


def test_libraries_of_two_releases_are_one() -> None:
    old, new = (
        counts(
            {"main": 10.0, "get": 90.0}, {("main", "get"): 90.0}, binary=f"librocksdb.so.{minor}"
        )
        for minor in ("8.1", "8.2")
    )
    assert len(call_tree(old, new)) == 3


def test_bundles_without_calls_have_no_tree() -> None:
    without = BEFORE.model_copy(update={"calls": ()})
    assert call_tree(without, AFTER) == ()
    assert call_tree(BEFORE, without) == ()
