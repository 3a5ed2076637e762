from __future__ import annotations

from collections.abc import Mapping

import pytest

from pipeline.explain.classify import Reason, SlowdownClass, classify
from pipeline.explain.counted_change import CountedChange
from pipeline.explain.figures import FigureChange, figure_changes
from pipeline.explain.functions import FunctionChange
from pipeline.explain.layout_trial import CacheMisses, LayoutOutcome, LayoutTrial
from pipeline.explain.plans import PlanChange, plan_changes
from pipeline.explain.settings import Suspect
from pipeline.explain.trial import Trial, TrialOutcome
from pipeline.explain.waits import WaitChange

USUAL = {
    "qps": 1000.0,
    "latency_avg": 1.0,
    "latency_p99": 2.0,
    "qps_cv": 0.05,
    "cpu_us/o": 400.0,
    "instructions/o": 1e6,
    "cs/o": 2.0,
    "r/o": 0.2,
    "w/o": 0.1,
    "wKB/o": 2.0,
}
NOISE = (1.0, 1.004, 0.997, 1.001, 0.998)


def moved(
    factors: Mapping[str, float], noise: tuple[float, ...] = NOISE
) -> tuple[FigureChange, ...]:
    """Repetitions of both sides, of figures that moved by these factors."""
    return figure_changes(
        {name: [level * one for one in noise] for name, level in USUAL.items()},
        {
            name: [level * factors.get(name, 1.0) * one for one in reversed(noise)]
            for name, level in USUAL.items()
        },
        0.03,
    )


def kinds(figures: tuple[FigureChange, ...], *detected: str) -> list[SlowdownClass]:
    return [finding.kind for finding in classify(figures, detected, (), (), ())]


@pytest.mark.parametrize(
    ("factors", "first"),
    [
        (
            {"qps": 0.7, "cpu_us/o": 1.43, "latency_avg": 1.43, "instructions/o": 1.5},
            SlowdownClass.CPU,
        ),
        # What runs at a constant rate beside grows per operation as the throughput falls.
        ({"qps": 0.7, "cpu_us/o": 1.43, "latency_avg": 1.43, "w/o": 1.43}, SlowdownClass.CPU),
        ({"cpu_us/o": 1.2}, SlowdownClass.CPU),
        (
            {"qps": 0.7, "cpu_us/o": 1.05, "cs/o": 1.6, "latency_avg": 1.43},
            SlowdownClass.CONTENTION,
        ),
        ({"qps": 0.7, "cs/o": 1.6}, SlowdownClass.CONTENTION),
        ({"qps": 0.5, "r/o": 2.5, "latency_avg": 2.0}, SlowdownClass.IO),
        ({"qps": 0.5, "cpu_us/o": 1.1, "w/o": 3.0, "wKB/o": 3.0}, SlowdownClass.IO),
        ({"latency_p99": 4.0, "qps_cv": 3.0}, SlowdownClass.VARIANCE),
        ({"qps": 0.7, "latency_avg": 1.43}, SlowdownClass.UNKNOWN),
        ({}, SlowdownClass.UNKNOWN),
    ],
)
def test_what_moved_gives_the_class(factors: Mapping[str, float], first: SlowdownClass) -> None:
    assert kinds(moved(factors))[0] is first


def test_cpu_that_explains_little_of_what_was_lost_is_not_why() -> None:
    assert SlowdownClass.CPU not in kinds(moved({"qps": 0.5, "cpu_us/o": 1.1, "latency_avg": 2.0}))


def test_the_function_that_costs_most_of_it_is_evidence() -> None:
    figures = moved({"qps": 0.7, "cpu_us/o": 1.5, "latency_avg": 1.43})
    functions = [
        FunctionChange(
            name=name, own_before=10.0, own_after=10.0 + more, total_before=0.0, total_after=0.0
        )
        for name, more in (("planted", 150.0), ("beside", 40.0), ("cheaper", -5.0))
    ]
    first, *_ = classify(figures, (), (), (), (), functions=functions)
    assert first.kind is SlowdownClass.CPU
    assert first.evidence[-1] == "planted 10 -> 160 us of its own"
    assert not any("beside" in sentence for sentence in first.evidence)


@pytest.mark.parametrize(
    ("metric", "others", "kind"),
    [
        ("r/o", {}, SlowdownClass.UNKNOWN),
        ("cs/o", {}, SlowdownClass.UNKNOWN),
        ("cs/o", {"cpu_us/o": 1.43}, SlowdownClass.CPU),
    ],
)
def test_what_is_next_to_nothing_is_not_why(
    metric: str, others: Mapping[str, float], kind: SlowdownClass
) -> None:
    figures = [
        figure.model_copy(update={"before": 0.001, "after": 0.003})
        if figure.metric == metric
        else figure
        for figure in moved({"qps": 0.7, metric: 3.0, **others})
    ]
    assert kinds(tuple(figures)) == [kind]


def test_the_evidence_names_the_figures_that_say_so() -> None:
    figures = moved({"qps": 0.7, "cpu_us/o": 1.43, "instructions/o": 1.5})
    (found,) = classify(figures, (), (), (), ())
    assert [sentence.split(" ")[0] for sentence in found.evidence] == [
        "cpu_us/o",
        "qps",
        "instructions/o",
    ]
    assert "400 -> 572 us (x1.43)" in found.evidence[0]


def test_what_detection_knows_counts_where_two_revisions_cannot_show_it() -> None:
    wide = (1.0, 1.5, 0.6, 1.3, 0.7)
    figures = moved({"qps": 0.8, "cpu_us/o": 1.25}, wide)
    assert kinds(figures) == [SlowdownClass.UNKNOWN]
    assert kinds(figures, "qps", "cpu_us/o") == [SlowdownClass.CPU]


def test_with_single_runs_the_unknown_says_what_is_missing() -> None:
    (found,) = classify(moved({"qps": 0.7, "cpu_us/o": 1.43}, (1.0,)), ("qps",), (), (), ())
    assert found.kind is SlowdownClass.UNKNOWN
    assert found.evidence[0].startswith("qps 1000 -> 700")
    assert found.evidence[1] == (
        "with 1 and 1 repetitions, 10 of 10 figures could not be distinguished from noise"
    )


CAUSE = Trial(
    suspects=(Suspect(name="jit", old="off", new="on"),),
    step="s",
    metric="qps",
    outcome=TrialOutcome.CAUSE,
    blocks=4,
    share=0.96,
    low=0.9,
    high=1.02,
)
PLAN = PlanChange(
    statement="SELECT c FROM sbtest# WHERE id = ?",
    before="Limit\n  Index Scan using sbtest_pkey on sbtest",
    after="Limit\n  Seq Scan on sbtest",
)


def test_causes_come_before_symptoms_in_their_order() -> None:
    figures = moved({"qps": 0.7, "cpu_us/o": 1.43})
    found = classify(figures, (), (PLAN,), ("inserts: 80 of 100 1/s",), (CAUSE,))
    assert [each.kind for each in found] == [
        SlowdownClass.SLA,
        SlowdownClass.CHANGED_DEFAULT,
        SlowdownClass.PLAN,
        SlowdownClass.CPU,
    ]
    assert found[1] == Reason(
        kind=SlowdownClass.CHANGED_DEFAULT,
        evidence=(
            "jit = 'off' (the old value) reverses 96% of the change of qps in s (95 % interval "
            "90% to 102%): explains the change",
        ),
    )
    # The first line that differs, not the first one.
    assert found[2].evidence == (
        "SELECT c FROM sbtest# WHERE id = ?: Index Scan using sbtest_pkey on sbtest -> "
        "Seq Scan on sbtest",
    )


def test_a_setting_that_explains_a_part_is_not_the_class() -> None:
    part = CAUSE.model_copy(update={"outcome": TrialOutcome.PART, "share": 0.2})
    found = classify(moved({"qps": 0.7, "cpu_us/o": 1.43}), (), (), (), (part,))
    assert [each.kind for each in found] == [SlowdownClass.CPU]


def test_only_statements_of_both_sides_with_other_plans_are_plan_changes() -> None:
    before = {"a": "Index Scan", "b": "Seq Scan", "gone": "Seq Scan"}
    after = {"a": "Seq Scan", "b": "Seq Scan", "come": "Seq Scan"}
    assert plan_changes(before, after) == (
        PlanChange(statement="a", before="Index Scan", after="Seq Scan"),
    )


def counted(effect: float = 0.0) -> CountedChange:
    return CountedChange(
        before=1000.0,
        after=1000.0 * (1 + effect),
        sentence=f"{100 * effect:+.3g} % instructions per query",
        functions=(),
        slower=True,
    )


def laid_out(outcome: LayoutOutcome, *misses: CacheMisses) -> LayoutTrial:
    return LayoutTrial(
        last_good="1",
        first_bad="2",
        step="s",
        metric="qps",
        outcome=outcome,
        blocks=4,
        misses=misses,
    )


MORE = CacheMisses(metric="ll_misses/o", before=10.0, after=16.0)
SAME = CacheMisses(metric="ll_misses/o", before=10.0, after=10.5)


@pytest.mark.parametrize(
    ("layout", "kind", "cause"),
    [
        (None, SlowdownClass.EQUAL_INSTRUCTIONS, "waiting, cache or layout"),
        (
            laid_out(LayoutOutcome.MOVES),
            SlowdownClass.LAYOUT,
            "the layout of the code, not the code",
        ),
        (laid_out(LayoutOutcome.STAYS), SlowdownClass.EQUAL_INSTRUCTIONS, "waiting or cache"),
        (laid_out(LayoutOutcome.STAYS, SAME), SlowdownClass.EQUAL_INSTRUCTIONS, "waiting or cache"),
        (laid_out(LayoutOutcome.STAYS, SAME, MORE), SlowdownClass.CACHE, "cache"),
        # Misses depend on the layout as well.
        (laid_out(LayoutOutcome.MOVES, MORE), SlowdownClass.LAYOUT, "the layout of the code"),
        (
            laid_out(LayoutOutcome.UNDECIDED, MORE),
            SlowdownClass.EQUAL_INSTRUCTIONS,
            "waiting, cache or layout",
        ),
    ],
)
def test_a_trial_tells_layout_and_cache_apart(
    layout: LayoutTrial | None, kind: SlowdownClass, cause: str
) -> None:
    slower = moved({"qps": 0.7, "cpu_us/o": 1.43, "latency_avg": 1.43})
    (finding,) = classify(slower, (), (), (), (), counted=counted(), layout=layout)
    assert finding.kind is kind
    assert finding.evidence[1].startswith(cause)
    if layout is not None:
        assert finding.evidence[2 : 2 + len(layout.sentences())] == layout.sentences()


def test_waiting_comes_before_a_layout() -> None:
    waits = moved({"qps": 0.7, "cs/o": 1.6, "latency_avg": 1.43})
    first, *_ = classify(
        waits, (), (), (), (), counted=counted(), layout=laid_out(LayoutOutcome.MOVES)
    )
    assert first.kind is SlowdownClass.CONTENTION


LOCK = WaitChange(event="Lock:relation", before=0.0, after=0.4)


@pytest.mark.parametrize(
    ("factors", "kind"),
    [
        ({"qps": 0.7, "latency_avg": 1.43}, SlowdownClass.WAITING),
        ({"qps": 0.7, "cs/o": 1.6, "latency_avg": 1.43}, SlowdownClass.CONTENTION),
        ({"qps": 0.5, "r/o": 2.5, "latency_avg": 2.0}, SlowdownClass.IO),
    ],
)
def test_the_event_that_statements_wait_for_is_the_first_evidence(
    factors: Mapping[str, float], kind: SlowdownClass
) -> None:
    first, *_ = classify(moved(factors), (), (), (), (), waits=(LOCK,))
    assert first.kind is kind
    assert first.evidence[0] == LOCK.sentence()


def test_waiting_for_less_than_half_of_the_lost_time_is_no_reason() -> None:
    slower = moved({"qps": 0.1, "latency_avg": 10.0})
    assert SlowdownClass.WAITING not in {
        each.kind for each in classify(slower, (), (), (), (), waits=(LOCK,))
    }


def test_a_timed_confirmation_stands_beside_the_instructions() -> None:
    timed = counted(0.44).model_copy(update={"timed": "timed confirmation: confirmed"})
    slower = moved({"qps": 0.7, "cpu_us/o": 1.43, "latency_avg": 1.43})
    first, *_ = classify(slower, (), (), (), (), counted=timed)
    assert first.kind is SlowdownClass.INSTRUCTIONS
    assert first.evidence == (timed.sentence, timed.timed)
