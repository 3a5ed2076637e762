"""The answer of a pull request: numbers that travel, and nothing that is believed."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from benchmarks.confirm import HEAD, SimulatedMachine, simulated_figures, simulated_pair
from pipeline.experiments.compare import compared
from pipeline.experiments.interleaved import Question, interleave
from pipeline.experiments.pull_request import (
    LONGEST_FUNCTION,
    REASON,
    PullRequestAnswer,
    PullRequestRuns,
    RecordingRunner,
    answer_of,
    could_not_run,
    plain,
    read_answer,
)
from pipeline.experiments.record import Experiment
from pipeline.model import FunctionCostChange
from tests.notify import answers
from tests.notify.answers import levels, measured, not_measured

PAIR = simulated_pair("sqlite")
FIGURES = simulated_figures(3)


@pytest.mark.parametrize("change", [-0.06, 0.0, 0.004, 0.05])
@pytest.mark.parametrize("blocks", [1, 5, 40])
def test_what_was_found_while_it_was_measured_follows_from_the_numbers(
    change: float, blocks: int
) -> None:
    """Also of steps that fail."""
    machine = SimulatedMachine(
        FIGURES,
        np.random.default_rng(3),
        changes={HEAD: change},
        failing={FIGURES[2].step: [HEAD]} if change else {},
    )
    question = Question(figures=FIGURES, seconds=60.0 * blocks)
    experiment = Experiment(kind="compare", base=PAIR.base, head=PAIR.head, question=question)
    recorder = RecordingRunner()
    found = interleave(recorder.around(machine), PAIR, question, machine.clock)
    reported = answer_of(experiment, recorder.blocks(PAIR), found.seconds, {})
    arrived = read_answer(reported.model_dump_json().encode()).measured
    assert arrived is not None
    assert arrived.comparison().answer == compared(experiment, found).answer
    assert arrived.comparison().rows[0].verdict == compared(experiment, found).rows[0].verdict


def test_functions_of_counted_steps_arrive_bounded_and_printable() -> None:
    """The names of a stranger's functions are the stranger's text."""
    question = Question(figures=FIGURES, seconds=60.0)
    experiment = Experiment(kind="compare", base=PAIR.base, head=PAIR.head, question=question)
    step = FIGURES[0].step
    changes = [
        FunctionCostChange(function=name, binary="a.so", before=-1e-9, after=2.5, share=0.3)
        for name in ("::stop", "n\n##[error]", "T<" + "int," * 999, "é", "\n", "sixth")
    ]
    block = tuple(dict.fromkeys(FIGURES, level) for level in (2.0, 3.0, 2.0))
    reported = answer_of(experiment, [(block[0], block[1], block[2])], 1.0, {step: changes})
    arrived = read_answer(reported.model_dump_json().encode()).measured
    assert arrived is not None
    (functions,) = arrived.comparison().functions.values()
    assert [each.function[:9] for each in functions] == [
        ": :stop",
        "n # #[err",
        "T<int,int",
        "?",
        "?",
    ]
    assert {(each.before, each.after, each.share) for each in functions} == {(0.0, 2.5, 0.3)}
    assert max(len(each.function) for each in functions) == LONGEST_FUNCTION


def test_a_machine_that_moved_decides_nothing() -> None:
    answer = read(measured(levels(change=0.1, control=0.1), levels("scan_range=100", "qps")))
    comparison = answer.comparison()
    assert comparison.answer.moved
    assert not comparison.regressed


def test_what_is_asked_is_the_readers_to_choose() -> None:
    """Whoever measures cannot hide a change by asking for larger ones only."""
    answer = read(measured(levels(change=0.1), smallest_effect=0.99))
    assert not answer.comparison().regressed
    assert answer.comparison(0.02).regressed


def read(answer: dict[str, Any]) -> PullRequestRuns:
    found = read_answer(json.dumps(answer).encode()).measured
    assert found is not None
    return found


def changed(at: str, value: Any, answer: dict[str, Any] | None = None) -> bytes:
    """Return an answer that was tampered with at a place such as ``measured.levels.0.step``."""
    tampered = json.loads(json.dumps(answer or measured()))
    *path, last = [int(part) if part.isdecimal() else part for part in at.split(".")]
    place = tampered
    for part in path:
        place = place[part]
    place[last] = value
    return json.dumps(tampered).encode()


def function(**changes: Any) -> bytes:
    """Return an answer with a function that was tampered with."""
    honest = {"step": "scan", "function": "main", "before": 1.0, "after": 2.0, "share": 0.1}
    return changed("measured.functions", [honest | changes])


FIRST = "measured.levels.0"


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b"", "its beginning"),
        (b"\xff\xfe", "its beginning"),
        (b"[" * 200_000, "its beginning"),
        (b'{"a":' * 200_000, "its beginning"),
        (b"null", "its beginning"),
        (b"9" * 100_000, "its beginning"),
        (changed("schema_version", 2), "schema_version"),
        (changed("schema_version", "1"), "schema_version"),
        (changed("status", "success"), "status"),
        (changed("status", "could not run"), "its beginning"),
        (changed("reason", "slow"), "its beginning"),
        (changed("reason", "", not_measured("x")), "its beginning"),
        (changed("reason", "x" * (REASON + 1), not_measured("x")), "reason"),
        (changed("reason", "one\n::error::two", not_measured("x")), "reason"),
        (changed("reason", "\u202etxt", not_measured("x")), "reason"),
        (changed("reason", "ol\u00e9", not_measured("x")), "reason"),
        # What it must not say: it would have to be believed.
        (changed("verdict", "success"), "verdict"),
        (changed("number", 7), "number"),
        (changed("pull_request", 7), "pull_request"),
        (changed("repository", "other/repository"), "repository"),
        (changed(f"{FIRST}.verdict", "same"), f"{FIRST}.verdict"),
        (changed(f"{FIRST}.effect", 0.0), f"{FIRST}.effect"),
        # Numbers that are none.
        (changed(f"{FIRST}.head.0", math.nan), f"{FIRST}.head.0"),
        (changed(f"{FIRST}.head.0", math.inf), f"{FIRST}.head.0"),
        (changed(f"{FIRST}.base.0", -math.inf), f"{FIRST}.base.0"),
        (changed(f"{FIRST}.head.0", -1.0), f"{FIRST}.head.0"),
        (changed(f"{FIRST}.head.0", 1e16), f"{FIRST}.head.0"),
        (changed(f"{FIRST}.head.0", 1e-300), FIRST),
        (changed(f"{FIRST}.head.0", "10.0"), f"{FIRST}.head.0"),
        (changed(f"{FIRST}.head.0", True), f"{FIRST}.head.0"),
        (changed(f"{FIRST}.head.0", [1.0]), f"{FIRST}.head.0"),
        (changed(f"{FIRST}.head.0", 10**400), f"{FIRST}.head.0"),
        (changed("measured.smallest_effect", 0.0), "measured.smallest_effect"),
        (changed("measured.smallest_effect", math.nan), "measured.smallest_effect"),
        (changed("measured.seconds", math.inf), "measured.seconds"),
        (changed("measured.budget", -1.0), "measured.budget"),
        # Counts.
        (changed(f"{FIRST}.head", [1.0] * 3), FIRST),
        (changed(f"{FIRST}.head", [1.0] * 41), f"{FIRST}.head"),
        (changed("measured.levels", []), "measured.levels"),
        (changed("measured.levels", [levels()] * 501), "measured.levels"),
        (changed("measured.levels", [levels(), levels()]), "measured"),
        (changed("measured.levels", [levels(), levels("scan", blocks=3)]), "measured"),
        # Names that are more than names.
        (changed(f"{FIRST}.metric", "qps @everyone"), FIRST),
        (changed(f"{FIRST}.step", "<script>"), f"{FIRST}.step"),
        (changed(f"{FIRST}.step", "@octocat"), f"{FIRST}.step"),
        (changed(f"{FIRST}.step", "[a](http://evil.test)"), f"{FIRST}.step"),
        (changed(f"{FIRST}.step", "a|b"), f"{FIRST}.step"),
        (changed(f"{FIRST}.step", "a`b"), f"{FIRST}.step"),
        (changed(f"{FIRST}.step", "closes #1"), f"{FIRST}.step"),
        (changed(f"{FIRST}.step", "GH-1"), f"{FIRST}.step"),
        (changed(f"{FIRST}.step", "www.evil.test"), f"{FIRST}.step"),
        (changed(f"{FIRST}.step", "scan\n::error::x"), f"{FIRST}.step"),
        (changed(f"{FIRST}.step", "s" * 81), f"{FIRST}.step"),
        (changed("measured.machine_class", "small -->"), "measured.machine_class"),
        (changed("measured.workload", "x; rm -rf ."), "measured.workload"),
        (changed("measured.workload", "--config=x"), "measured.workload"),
        (changed("measured.target", "../sqlite"), "measured.target"),
        (changed("measured.base.label", "$(id)"), "measured.base.label"),
        (changed("measured.base.options", "a b"), "measured.base.options"),
        (changed("measured.head.commit", "a" * 39), "measured.head.commit"),
        (changed("measured.head.commit", "HEAD"), "measured.head.commit"),
        (function(function="a\nb"), "measured.functions.0.function"),
        (function(function=""), "measured.functions.0.function"),
        (function(after=-1.0), "measured.functions.0.after"),
        (function(step="@octocat"), "measured.functions.0.step"),
    ],
)
def test_what_is_no_answer_is_refused_and_says_where(data: bytes, where: str) -> None:
    with pytest.raises(ValueError, match=r"^answer\.json is invalid at ") as refused:
        read_answer(data)
    assert str(refused.value) == f"answer.json is invalid at {where}"


def test_where_a_stranger_chose_the_name_of_the_place_it_is_plain() -> None:
    tampered = measured() | {"::error::\n@octocat <b>" + "x" * 500: 1}
    with pytest.raises(ValueError, match="is invalid") as refused:
        read_answer(json.dumps(tampered).encode())
    said = str(refused.value)
    assert "\n" not in said
    assert len(said) < 120


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("an error", "an error"),
        ("  two\n lines ", "two lines"),
        ("::error::x", ": :error::x"),
        ("\n::stop-commands::x", ": :stop-commands::x"),
        ("a ##[error]b", "a # #[error]b"),
        ("std::string", "std::string"),
        ("\x1b[31mred\x00\u202e", "?[31mred?"),
    ],
)
def test_text_of_strangers_is_a_line_that_commands_nothing(text: str, said: str) -> None:
    assert plain(text) == said
    assert could_not_run(text).reason == said


def test_a_reason_is_bounded_and_never_empty() -> None:
    assert len(could_not_run("x" * 10_000).reason) == REASON
    assert could_not_run("\n").reason == "no reason is known"
    assert read_answer(could_not_run("é\n" * 999).model_dump_json().encode()).measured is None


def test_what_the_tests_make_up_is_what_measure_writes() -> None:
    made = PullRequestAnswer.model_validate_json(json.dumps(measured()))
    assert json.loads(made.model_dump_json()) == measured()
    assert made.measured is not None
    assert made.measured.head.written("sqlite") == f"sqlite:.#{answers.HEAD}@rel_o2nofp+wal"
