from __future__ import annotations

import pytest

from pipeline.measure.counting import (
    MOST_CALLS,
    CountedLength,
    CountError,
    per_operation,
    serves,
)
from pipeline.profiles.callgrind import CallgrindProfile, Costs, FunctionKey
from pipeline.targets.base import Counting

POSTGRES = Counting(entries=("PostgresMain",), waiting=frozenset({"epoll_wait"}))


def profile(
    costs: dict[str, tuple[float, float]],
    binary: str = "postgres",
    events: tuple[str, ...] = ("Ir",),
    calls: dict[tuple[str, str], float] | None = None,
) -> CallgrindProfile:
    """Return a profile with costs of functions and calls; every event costs the same."""
    return CallgrindProfile(
        events,
        {
            FunctionKey(name, binary): Costs((own,) * len(events), (called,) * len(events))
            for name, (own, called) in costs.items()
        },
        {
            (FunctionKey(caller, binary), FunctionKey(callee, binary)): (cost,) * len(events)
            for (caller, callee), cost in (calls or {}).items()
        },
    )


def length(operations: float, factor: float, waiting: float = 0.0) -> CountedLength:
    """Return a run with a start-up of 1000 instructions; factor 1 is 100 instructions."""
    backend = profile(
        {
            "PostgresMain": (1000.0, 100.0 * factor),
            "scan": (80.0 * factor, 20.0 * factor),
            "compare": (20.0 * factor, 0.0),
            "epoll_wait": (waiting, 0.0),
        },
        calls={
            ("PostgresMain", "scan"): 100.0 * factor,
            ("scan", "compare"): 20.0 * factor,
            ("scan", "PostgresMain"): 0.05 * factor,
            ("PostgresMain", "epoll_wait"): waiting,
        },
    )
    return CountedLength(operations, [backend])


def test_start_up_cancels() -> None:
    counts = per_operation(length(10, 10), length(30, 30), POSTGRES)
    assert counts.instructions == 100.0
    assert counts.operations == (10, 30)


def test_waiting_is_counted_apart() -> None:
    counts = per_operation(length(10, 10, 7.0), length(30, 30, 207.0), POSTGRES)
    assert counts.instructions == 100.0
    assert counts.waiting == 10.0


def test_functions_have_their_own_and_inclusive_costs_the_costliest_first() -> None:
    functions = per_operation(length(10, 10), length(30, 30), POSTGRES).functions
    assert [(f.function, f.self_cost, f.inclusive_cost) for f in functions] == [
        ("scan", 80.0, 100.0),
        ("compare", 20.0, 20.0),
        ("PostgresMain", 0.0, 100.0),
    ]


def test_calls_are_between_kept_functions_the_costliest_first() -> None:
    counts = per_operation(length(10, 10, 7.0), length(30, 30, 207.0), POSTGRES)
    names = [each.function for each in counts.functions]
    assert [(names[c.caller], names[c.callee], c.cost) for c in counts.calls] == [
        ("PostgresMain", "scan", 100.0),
        ("scan", "compare", 20.0),
    ]


def test_calls_are_bounded_in_number() -> None:
    callees = [f"f{number:04d}" for number in range(MOST_CALLS + 10)]

    def wide(factor: float) -> CountedLength:
        costs = dict.fromkeys(callees, (factor, 0.0))
        calls = {("PostgresMain", name): 10.0 * factor + at for at, name in enumerate(callees)}
        whole = profile({"PostgresMain": (0.0, 10.0 * factor), **costs}, calls=calls)
        return CountedLength(factor, [whole])

    calls = per_operation(wide(1.0), wide(2.0), POSTGRES).calls
    assert len(calls) == MOST_CALLS


def test_the_inclusive_cost_of_recursive_functions_is_at_most_the_whole() -> None:
    def run(operations: float) -> CountedLength:
        costs = {"PostgresMain": (0.0, 0.0), "walk": (10.0 * operations, 500.0 * operations)}
        return CountedLength(operations, [profile(costs)])

    (walk,) = per_operation(run(1), run(3), POSTGRES).functions
    assert (walk.self_cost, walk.inclusive_cost) == (10.0, 10.0)


def test_processes_that_serve_no_client_are_background() -> None:
    def run(operations: float) -> CountedLength:
        backend = profile({"PostgresMain": (10.0 * operations, 0.0)})
        writer = profile({"WalWriterMain": (3.0 * operations, 0.0)})
        return CountedLength(operations, [writer, backend])

    counts = per_operation(run(1), run(3), POSTGRES)
    assert (counts.instructions, counts.background) == (10.0, 3.0)


def test_only_the_named_binaries_count() -> None:
    def run(operations: float) -> CountedLength:
        library = profile({"sqlite3_step": (10.0 * operations, 0.0)}, "libsqlite3.so.0")
        client = profile({"lj_vm": (500.0 * operations, 0.0)}, "libluajit.so")
        return CountedLength(
            operations, [CallgrindProfile(("Ir",), {**library.costs, **client.costs}, {})]
        )

    counts = per_operation(run(1), run(3), Counting(binaries=("libsqlite3",)))
    assert (counts.instructions, counts.outside) == (10.0, 500.0)
    assert [each.function for each in counts.functions] == ["sqlite3_step"]


def test_parameters_are_no_part_of_the_name_of_an_entry() -> None:
    counting = Counting(entries=("do_command",))
    assert serves(profile({"do_command(THD*)": (1.0, 0.0)}), counting)
    assert not serves(profile({"do_command_async(THD*)": (1.0, 0.0)}), counting)


def test_misses_of_the_simulation_are_by_operation() -> None:
    events = ("Ir", "I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw")

    def run(operations: float) -> CountedLength:
        return CountedLength(
            operations, [profile({"PostgresMain": (2.0 * operations, 0.0)}, events=events)]
        )

    misses = per_operation(run(1), run(3), POSTGRES).misses
    assert misses == {"l1_misses/o": 6.0, "ll_misses/o": 6.0}


@pytest.mark.parametrize(
    ("shorter", "longer", "why"),
    [
        (length(10, 10), length(10, 30), "no more operations"),
        (length(10, 30), length(30, 30), "no more instructions"),
        (CountedLength(1, []), CountedLength(3, []), "PostgresMain did not run"),
    ],
    ids=["no more operations", "no more instructions", "nothing served"],
)
def test_what_cannot_be_counted_is_one_line(
    shorter: CountedLength, longer: CountedLength, why: str
) -> None:
    with pytest.raises(CountError, match=why):
        per_operation(shorter, longer, POSTGRES)
