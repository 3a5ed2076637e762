from __future__ import annotations

import pytest

from pipeline.profiles.callgrind import (
    NO_SYMBOL,
    CallgrindError,
    Costs,
    FunctionKey,
    complete,
    parse,
)

HEAD = """# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 24258
cmd:  /home/db/bin/postgres -D data
part: 1

positions: line
events: Ir
summary: 100

"""

SCAN = """ob=(1) /home/db/bin/postgres
fl=(1) ???
fn=(1) ExecScan.isra.0
0 10
cfn=(2) heapgettup
calls=4 0
0 40
cob=(2) /lib/libc.so.6
cfn=(3) memcpy
calls=1 0
0 7

fn=(2)
0 25
+3 5
cfn=(2)
calls=2 0
* 12

fn=(4) 0x00000000000176c0
0 2

fn=(5) 0x0000000000099000
0 1

ob=(2)
fn=(3)
0 7

totals: 50
"""


def test_own_costs_and_those_of_calls_are_summed_by_function_and_binary() -> None:
    costs = parse(HEAD + SCAN).costs
    assert costs[FunctionKey("ExecScan", "postgres")] == Costs((10.0,), (47.0,))
    assert costs[FunctionKey("memcpy", "libc.so.6")] == Costs((7.0,), (0.0,))


def test_direct_recursion_is_no_call() -> None:
    costs = parse(HEAD + SCAN).costs
    assert costs[FunctionKey("heapgettup", "postgres")] == Costs((30.0,), (0.0,))


def test_functions_without_a_name_are_one_of_each_binary() -> None:
    costs = parse(HEAD + SCAN).costs
    assert costs[FunctionKey(NO_SYMBOL, "postgres")].own == (3.0,)


@pytest.mark.parametrize("ending", [".isra.0", ".constprop.1", ".part.0.cold", ".lto_priv.12", ""])
def test_copies_that_a_compiler_made_are_the_same_function(ending: str) -> None:
    text = HEAD + f"ob=(1) postgres\nfn=(1) ExecScan{ending}\n0 10\n\ntotals: 10\n"
    assert list(parse(text).costs) == [FunctionKey("ExecScan", "postgres")]


def test_several_events_have_zeros_left_out_at_the_end() -> None:
    head = HEAD.replace("events: Ir", "events: Ir Dr D1mr")
    found = parse(head + "ob=(1) db\nfn=(1) f\n0 10 4 1\n0 3\n\ntotals: 13 4 1\n")
    assert found.events == ("Ir", "Dr", "D1mr")
    assert found.costs[FunctionKey("f", "db")].own == (13.0, 4.0, 1.0)


@pytest.mark.parametrize("length", [0, 40, len(HEAD), len(HEAD + SCAN) - 12])
def test_a_file_that_is_not_written_to_its_end_is_refused(length: int) -> None:
    text = (HEAD + SCAN)[:length]
    assert not complete(text)
    with pytest.raises(CallgrindError, match="incomplete"):
        parse(text)


def test_an_unknown_name_is_one_line() -> None:
    with pytest.raises(CallgrindError, match="unknown name"):
        parse(HEAD + "fn=nothing\n0 1\n\ntotals: 1\n")


def test_calls_have_their_costs_by_caller_and_callee() -> None:
    scan, get = FunctionKey("ExecScan", "postgres"), FunctionKey("heapgettup", "postgres")
    copy = FunctionKey("memcpy", "libc.so.6")
    assert parse(HEAD + SCAN).calls == {(scan, get): (40.0,), (scan, copy): (7.0,)}
