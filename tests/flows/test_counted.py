"""Counted workloads beside timed ones, on a simulated machine."""

from __future__ import annotations

import json
import re

import pytest

from pipeline.model import Cell
from pipeline.model.counts import FLOOR, INSTRUCTIONS
from tests.simulated import Simulation

BOTH = """
[[workload]]
name = "counts"
config = "wal"
rows = 5000
steps = ["point-query"]
mode = "count"
"""


def test_a_night_with_both_modes_files_what_the_counts_show(simulation: Simulation) -> None:
    """Nothing is seen in time, however noisy the machine is; one run counts each revision."""
    simulation.configure(more=BOTH)
    simulation.noise = 0.05
    names = [simulation.commit() for _ in range(3)]
    simulation.costs = lambda cell, _: {
        "parse": 4000.0,
        "execute": 16500.0 if simulation.place(cell.revision.label) >= 2 else 16000.0,
    }
    for stage in ("discover", "run", "ingest", "detect"):
        simulation.run(stage)
    runs = simulation.measured()
    assert len(runs) == 3 * 2 + 3
    (one,) = simulation.regressions()
    assert one["first_bad"] == names[2]
    assert [(row["mode"], row["metric"]) for row in one["rows"]] == [("count", INSTRUCTIONS)]
    assert one["worst"]["effect"] == pytest.approx(0.025, abs=FLOOR)
    assert {row[0] for row in simulation.rows() if INSTRUCTIONS in row}, "the store has the counts"


def test_a_timed_change_does_not_need_counts(simulation: Simulation) -> None:
    simulation.configure(more=BOTH)
    for _ in range(6):
        simulation.commit()
    simulation.slowness = lambda cell, step, _: (
        1.3 if simulation.place(cell.revision.label) >= 3 else 1.0
    )
    for stage in ("discover", "run", "ingest", "detect"):
        simulation.run(stage)
    (one,) = simulation.regressions()
    assert {row["mode"] for row in one["rows"]} == {"time"}


def side(simulation: Simulation, number: int) -> str:
    return f"sqlite:./repository#{simulation.commits[number]}@plain"


def grown(simulation: Simulation, share: float, first: int = 1) -> None:
    """Let revisions from a number on execute more instructions, all of them in one function."""
    more = 16_000.0 + share * 20_000.0

    def costs(cell: Cell, step: str) -> dict[str, float]:
        return {
            "parse": 4_000.0,
            "execute": more if simulation.place(cell.revision.label) >= first else 16_000.0,
        }

    simulation.costs = costs


def test_a_counted_comparison_takes_one_run_of_each_side(simulation: Simulation) -> None:
    simulation.configure()
    for _ in range(2):
        simulation.commit()
    simulation.noise = 0.3
    grown(simulation, 0.01)
    words = ("compare", side(simulation, 0), side(simulation, 1), "--mode", "count")
    stopped = simulation.run(*words, "--gate", "--format", "json", code=1)
    (row,) = stopped.json
    assert (row["metric"], row["verdict"], row["blocks"]) == (INSTRUCTIONS, "worse", 1)
    assert row["ratio"] == pytest.approx(1.01, abs=FLOOR)
    low, high = row["interval"]
    assert high - low == pytest.approx(2 * FLOOR)
    (function,) = row["functions"]
    assert function == {
        "function": "execute",
        "binary": "engine.so",
        "before": 16_000.0,
        "after": 16_200.0,
        "share": pytest.approx(1.0, abs=0.1),
    }
    assert [run.revision for run in simulation.measured("compare-")] == simulation.commits
    text = simulation.run(*words).out
    assert "One run of base and of head, counted" in text
    assert " % instructions: execute +1.\n" in text
    same = simulation.run(*words, "--smallest", "2%", "--format", "json").json
    assert [each["verdict"] for each in same] == ["same"]
    refused = simulation.run(*words, "--metric", "qps", code=2).err
    assert "counted runs do not measure qps" in refused


def test_one_build_counted_twice_is_the_same(simulation: Simulation) -> None:
    simulation.configure()
    simulation.commit()
    words = ("compare", side(simulation, 0), side(simulation, 0), "--mode", "count", "--gate")
    (row,) = simulation.json(*words)
    assert (row["verdict"], row["functions"]) == ("same", [])


def test_two_fresh_runs_confirm_a_counted_regression(simulation: Simulation) -> None:
    simulation.configure(more=BOTH)
    for _ in range(3):
        simulation.commit()
    grown(simulation, 0.01, first=2)
    for stage in ("discover", "run", "ingest", "detect"):
        simulation.run(stage)
    (outcome,) = simulation.json("confirm")
    assert (outcome["verdict"], outcome["blocks"]) == ("confirmed", 1)
    assert len(simulation.measured("confirm-")) == 2
    (one,) = simulation.regressions()
    assert one["state"] == "confirmed"


def test_a_count_that_does_not_repeat_is_rejected(simulation: Simulation) -> None:
    simulation.configure(more=BOTH)
    for _ in range(3):
        simulation.commit()
    grown(simulation, 0.01, first=2)
    for stage in ("discover", "run", "ingest", "detect"):
        simulation.run(stage)
    grown(simulation, 0.001, first=2)
    (outcome,) = simulation.json("confirm")
    assert outcome["verdict"] == "rejected"


def slower(simulation: Simulation, first: int, times: float = 1.3) -> None:
    simulation.slowness = lambda cell, *_: (
        times if simulation.place(cell.revision.label) >= first else 1.0
    )


def test_counts_and_times_of_one_change_are_one_regression(simulation: Simulation) -> None:
    simulation.configure(more=BOTH)
    for _ in range(6):
        simulation.commit()
    slower(simulation, 3)
    grown(simulation, 0.3, first=3)
    simulation.run("nightly")
    (one,) = simulation.regressions()
    assert one["state"] == "confirmed"
    assert {(row["mode"], row["metric"]) for row in one["rows"]} == {
        ("time", "qps"),
        ("time", "cpu_us/o"),
        ("count", INSTRUCTIONS),
    }
    assert one["class"] == "CPU: more instructions"
    assert len(simulation.measured("confirm-")) == 2, "the counts explain it, so they confirm it"
    (text,) = simulation.issues().values()
    assert "CPU: more instructions" in text
    assert "+30 % instructions per query: execute +30" in text


def test_slower_at_equal_instructions_is_kept_but_not_filed(simulation: Simulation) -> None:
    simulation.configure(more=BOTH)
    for _ in range(6):
        simulation.commit()
    slower(simulation, 3)
    simulation.run("nightly")
    (one,) = simulation.regressions()
    assert one["state"] == "confirmed"
    simulation.run("explain")
    (one,) = simulation.regressions()
    assert one["class"] == "slower at equal instructions"
    assert simulation.issues() == {}


def test_a_slowdown_that_few_instructions_do_not_explain_is_measured_in_time(
    simulation: Simulation,
) -> None:
    simulation.configure(more=BOTH)
    for _ in range(6):
        simulation.commit()
    slower(simulation, 3)
    grown(simulation, 0.006, first=3)
    simulation.run("nightly")
    (one,) = simulation.regressions()
    assert one["class"] == "CPU"
    assert len(simulation.measured("confirm-")) > 2
    assert len(simulation.issues()) == 1


def test_more_instructions_without_a_slowdown_are_reported_as_such(simulation: Simulation) -> None:
    simulation.configure(more=BOTH)
    for _ in range(6):
        simulation.commit()
    grown(simulation, 0.01, first=3)
    simulation.run("nightly")
    (one,) = simulation.regressions()
    assert one["class"] == "more instructions, no slower"
    (text,) = simulation.issues().values()
    assert "execute +1" in text


def test_a_range_is_bisected_by_counts(simulation: Simulation) -> None:
    simulation.configure()
    for _ in range(16):
        simulation.commit()
    grown(simulation, 0.01, first=11)
    ends = ("--good", simulation.commits[0], "--bad", simulation.commits[15])
    simulation.run("discover")
    found = simulation.json("bisect", "--line", "line", *ends, "--mode", "count")
    assert (found["outcome"], found["culprit"]) == ("culprit", simulation.commits[11])
    assert found["metric"] == INSTRUCTIONS
    assert found["builds"] <= 2 + 4


def test_a_culprit_costs_no_runs_of_counted_ends(simulation: Simulation) -> None:
    simulation.configure(line="newest = 2", more=BOTH)
    names = [simulation.commit() for _ in range(2)]
    simulation.run("nightly")
    names += [simulation.commit() for _ in range(8)]
    grown(simulation, 0.02, first=5)
    simulation.run("nightly")
    (one,) = simulation.regressions()
    assert one["culprit"]["revision"] == names[5]
    again = {run.revision for run in simulation.measured("bisect-")}
    assert names[9] not in again


def test_the_mode_of_a_confirmation_can_be_chosen(simulation: Simulation) -> None:
    simulation.configure(more=BOTH)
    for _ in range(6):
        simulation.commit()
    slower(simulation, 3)
    grown(simulation, 0.3, first=3)
    for stage in ("discover", "run", "ingest", "detect"):
        simulation.run(stage)
    (outcome,) = simulation.json("confirm", "--mode", "time")
    assert outcome["verdict"] == "confirmed"
    assert {row["metric"] for row in outcome["rows"]} == {"qps", "cpu_us/o"}


def test_a_counted_pull_request_needs_two_runs(simulation: Simulation) -> None:
    simulation.configure()
    for _ in range(2):
        simulation.commit()
    grown(simulation, 0.01)
    sides = (side(simulation, 0), side(simulation, 1))
    words = ("pull-request", "measure", *sides, "--out", "answer", "--mode", "count", "--gate")
    said = simulation.run(*words, code=1).out
    assert "slower: point-query_range=100 has 1.0 % more instructions per operation" in said
    assert len(simulation.measured("compare-")) == 2


def test_tables_show_instructions_of_counted_workloads(simulation: Simulation) -> None:
    simulation.configure(more=BOTH)
    for _ in range(2):
        simulation.commit()
    grown(simulation, 0.01)
    simulation.run("nightly")
    text = simulation.run("table").out
    assert "counts" in text
    assert INSTRUCTIONS in text
    assert "1.01" in text
    only = simulation.run("table", "--metric", INSTRUCTIONS).out
    assert "1.01" in only


def test_a_night_keeps_functions_and_what_calls_what(simulation: Simulation) -> None:
    """The series of functions on the site, and the call tree of the regression."""
    simulation.configure(more=BOTH)
    for _ in range(6):
        simulation.commit()
    grown(simulation, 0.02, first=3)
    simulation.run("nightly")
    site = simulation.folder / "results" / "site"
    (functions,) = site.glob("data-*/*/functions-*.js")
    assert '"name":"execute"' in functions.read_text()
    (page,) = site.glob("data-*/regression-*.js")
    found = re.search(r'"frames":(\[\[.*?\]\])', page.read_text())
    assert found is not None
    frames = json.loads(found[1])
    assert [frame[0] for frame in frames] == ["", "main", "execute", "parse"]
    whole, _, execute, _ = frames
    assert execute[3] - execute[2] == pytest.approx(400.0, rel=0.1)
    assert whole[3] / whole[2] == pytest.approx(1.02, abs=2 * FLOOR)
