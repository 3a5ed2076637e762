"""A regression explained from its bundles, in markdown."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline.experiments.confirm import ConfirmOutcome, Verdict
from pipeline.experiments.experiment import Figure
from pipeline.experiments.interleaved import Question
from pipeline.experiments.record import Experiment
from pipeline.explain.classify import SlowdownClass
from pipeline.explain.explain import cells_of, explain, explain_step
from pipeline.explain.explanation import (
    Explained,
    Explanation,
    class_of,
    load_trials,
    save_explained,
    save_trials,
)
from pipeline.explain.samples import read_side
from pipeline.measure.plan import Line, Plan
from pipeline.model import Cell, Manifest, Regression, RegressionKind, SeriesKey, Shift, StepStatus
from pipeline.profiles.folded import dump_folded
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.repository import OUTCOME
from pipeline.report.explanation import IN_FULL, explanation_markdown
from pipeline.storage.bundle import bundle_path, read_bundle, write_bundle
from pipeline.text.errors import UserError
from tests.explain.test_classify import CAUSE
from tests.regressions.samples import shift
from tests.storage.bundles import STEPS, make_run, sample

POINT, WRITE = STEPS["point-query"].name, STEPS["write-only"].name

GOOD, BAD = 1, 2
REPETITIONS = 5


def plan_line(dialect: str, step: str, scan: str) -> str:
    head = f"nightshift plan dialect={dialect} step={step} statement=SELECT c WHERE id = ?"
    return f"{head}\nnightshift plan-row {scan}\n"


def put(folder: Path, minor: int, repetition: int) -> Manifest:
    """A run of 17.minor: 17.2 takes half as much CPU time more, in a function of its own."""
    slower = 1.5 if minor == BAD else 1.0
    manifest, files = make_run(
        minor, repetition, faster=(1 + repetition / 500) / slower, sampled={"dbms.x": "gauge, 1"}
    )
    used = 1e6 * (1 + repetition / 700)
    samples = [
        sample(0.0, server__cpu_us=1e6, dbms__x=1.0),
        sample(2.9, server__cpu_us=1e6 + used, dbms__x=3.0),
    ]
    stacks = {"postgres;main;read": 60, "postgres;main;send": 40}
    if minor == BAD:
        stacks["postgres;main;check"] = 50
    for record in manifest.steps:
        files[f"{record.folder}/samples.jsonl"] = b"".join(
            json.dumps({"at": each.at, **each.values}).encode() + b"\n" for each in samples
        )
        files[f"{record.folder}/profile.folded"] = dump_folded(stacks).encode()
    files["settings.json"] = json.dumps(
        {"jit": "off" if minor == GOOD else "on", "port": str(repetition)}
    ).encode()
    scan = "Index Scan using k_1 on sbtest1" if minor == GOOD else "Seq Scan on sbtest1"
    files["plans.txt"] = plan_line("pgsql", POINT, scan).encode()
    write_bundle(folder, manifest, files)
    return manifest


def cell_of(manifest: Manifest) -> Cell:
    return Cell(
        revision=manifest.revision,
        build_options=manifest.build.options,
        config=manifest.config,
        machine_class=manifest.machine.machine_class,
        workload=manifest.workload,
    )


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    runs = [
        put(tmp_path, minor, repetition)
        for minor in (GOOD, BAD)
        for repetition in range(1, REPETITIONS + 1)
    ]
    cells = {run.cell_key: cell_of(run) for run in runs}
    line = Line(
        name="minors",
        target="postgres",
        revisions=tuple(cell.revision for cell in cells.values()),
        cells=tuple(cells.values()),
    )
    return Plan(lines=(line,), repetitions=REPETITIONS)


def of_plan(plan: Plan, made: Shift) -> Shift:
    key = made.series.model_copy(
        update={"workload_hash": plan.cells[0].workload.hash, "machine_class": "test"}
    )
    return made.model_copy(update={"series": key})


def regression(plan: Plan, *steps: str) -> Regression:
    shifts = [of_plan(plan, shift(BAD, -0.3, step=step)) for step in steps or (POINT,)]
    (found,) = group_shifts(shifts)
    return found


def explained(plan: Plan, folder: Path, *steps: str, **more: Any) -> Explained:
    return explain(regression(plan, *steps), plan, folder, 0.03, **more)


def test_a_regression_is_explained_by_what_its_bundles_recorded(plan: Plan, tmp_path: Path) -> None:
    explanation, pictures = explained(plan, tmp_path)
    assert (explanation.last_good, explanation.first_bad) == ("17.1", "17.2")
    (step,) = explanation.steps
    assert [finding.kind for finding in step.findings] == [SlowdownClass.PLAN, SlowdownClass.CPU]
    assert explanation.kind is SlowdownClass.PLAN
    by_name = {figure.metric: figure for figure in step.figures}
    assert by_name["qps"].ratio == pytest.approx(1 / 1.5, rel=0.02)
    assert by_name["cpu_us/o"].verdict == "worse"
    assert by_name["dbms x"].verdict == "same"
    (change,) = step.plans
    assert (change.before, change.after) == (
        "Index Scan using k_ on sbtest",
        "Seq Scan on sbtest",
    )
    # Half of the time per operation more is all in check, although its share is a third.
    first = step.functions[0]
    assert first.name == "check"
    assert first.gained == pytest.approx(by_name["cpu_us/o"].after / 3)
    assert [suspect.name for suspect in explanation.suspects] == ["jit"]
    assert set(pictures) == {
        f"01-point-query_range-100-{side}.svg" for side in ("before", "after", "difference")
    }
    assert Explanation.model_validate_json(explanation.model_dump_json()) == explanation


def test_the_worst_step_gives_the_class_and_steps_are_reported_once(
    plan: Plan, tmp_path: Path
) -> None:
    shifts = [
        of_plan(plan, shift(BAD, -0.2, step=POINT)),
        of_plan(plan, shift(BAD, -0.4, step=WRITE)),
        of_plan(plan, shift(BAD, 0.4, step=WRITE, metric="cpu_us/o")),
    ]
    (found,) = group_shifts(shifts)
    explanation, _ = explain(found, plan, tmp_path, 0.03)
    assert [step.step for step in explanation.steps] == [WRITE, POINT]
    # No plan of the write changed.
    assert explanation.kind is SlowdownClass.CPU


def test_what_was_tested_is_evidence_for_its_step(plan: Plan, tmp_path: Path) -> None:
    trials = (CAUSE.model_copy(update={"step": POINT}),)
    explanation, _ = explained(plan, tmp_path, trials=trials)
    assert explanation.kind is SlowdownClass.CHANGED_DEFAULT
    text = explanation_markdown(explanation)
    assert text.startswith("## Why: changed default\n")
    assert "jit = 'off' (the old value) reverses 96%" in text
    assert "--test" not in text
    other, _ = explained(plan, tmp_path, WRITE, trials=trials)
    assert other.kind is SlowdownClass.CPU


def test_a_rate_that_is_missed_now_and_was_not_before_is_the_class(
    plan: Plan, tmp_path: Path
) -> None:
    # No family of these bundles has one, so it is said of what was gathered.
    before, after = (read_side(tmp_path, cell, REPETITIONS) for cell in plan.cells)
    after.steps[POINT].missed.append("inserts 80 of 100 1/s")

    def first(missed_before: bool) -> SlowdownClass:
        before.steps[POINT].missed[:] = ["as before"] if missed_before else []
        reported = explain_step(POINT, "s", before.steps[POINT], after.steps[POINT], (), 0.03)
        return reported.findings[0].kind

    assert first(missed_before=False) is SlowdownClass.SLA
    assert first(missed_before=True) is SlowdownClass.PLAN


def test_markdown_has_the_evidence_and_the_way_to_test(plan: Plan, tmp_path: Path) -> None:
    explanation, _ = explained(plan, tmp_path)
    text = explanation_markdown(explanation)
    assert "| `jit` | off | on |" in text
    assert f"nightshift explain {explanation.fingerprint} --test" in text
    assert "- Index Scan using k_ on sbtest\n+ Seq Scan on sbtest" in text
    assert "| `check` |" in text and "| `read` |" not in text
    assert "| cpu_us/o (us) |" in text
    assert "\n\n\n" not in text


def test_steps_beyond_the_worst_are_one_line_each(plan: Plan, tmp_path: Path) -> None:
    explanation, _ = explained(plan, tmp_path)
    many = explanation.model_copy(update={"steps": explanation.steps * (IN_FULL + 2)})
    text = explanation_markdown(many)
    assert text.count("### point-query") == IN_FULL
    assert text.count("- point-query_range=100 (cached") == 2


def test_a_damaged_bundle_is_skipped_and_without_any_this_is_reported(
    plan: Plan, tmp_path: Path
) -> None:
    path = bundle_path(tmp_path, plan.cells[0].run_id(1))
    path.write_bytes(path.read_bytes()[:100])
    (step,) = explained(plan, tmp_path).explanation.steps
    assert step.figures[0].runs == (REPETITIONS - 1, REPETITIONS)
    for one in tmp_path.glob("*-17.1-*"):
        one.unlink()
    with pytest.raises(UserError, match=r"no bundles of 17\.1 or 17\.2"):
        explained(plan, tmp_path)


def test_a_bundle_with_settings_that_are_no_texts_is_skipped(plan: Plan, tmp_path: Path) -> None:
    """As one that changed after the store had taken it."""
    path = bundle_path(tmp_path, plan.cells[0].run_id(1))
    bundle = read_bundle(path)
    path.unlink()
    write_bundle(
        tmp_path, bundle.manifest, {**bundle.files, "settings.json": b'{"work_mem": {"a": 1}}'}
    )
    (step,) = explained(plan, tmp_path).explanation.steps
    assert step.figures[0].runs == (REPETITIONS - 1, REPETITIONS)


def test_a_failed_step_has_no_figures_and_is_still_explained(plan: Plan, tmp_path: Path) -> None:
    for repetition in range(1, REPETITIONS + 1):
        path = bundle_path(tmp_path, plan.cells[1].run_id(repetition))
        bundle = read_bundle(path)
        steps = tuple(
            record.model_copy(update={"status": StepStatus.FAILED})
            for record in bundle.manifest.steps
        )
        path.unlink()
        write_bundle(tmp_path, bundle.manifest.model_copy(update={"steps": steps}), bundle.files)
    (step,) = explained(plan, tmp_path).explanation.steps
    assert step.figures == ()
    assert step.findings[0].kind is SlowdownClass.PLAN


def test_a_series_of_another_plan_has_no_cells(plan: Plan) -> None:
    found = regression(plan)
    key = found.shifts[0].series
    assert cells_of(found, plan, key) == plan.cells
    other: SeriesKey = key.model_copy(update={"workload_hash": "another"})
    assert cells_of(found, plan, other) is None


def test_trials_are_kept_and_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert load_trials(tmp_path) == ()
    path = save_trials([CAUSE], tmp_path / "explain-1")
    assert load_trials(path.parent) == (CAUSE,)
    path.write_text("[{")
    assert load_trials(path.parent) == ()


def test_profiles_that_were_recorded_afterwards_are_taken_and_their_figures_are_not(
    tmp_path: Path,
) -> None:
    slow, fast = put(tmp_path / "profiled", BAD, 1), put(tmp_path / "plain", BAD, 1)
    workload = slow.workload.model_copy(update={"profile": True})
    cell = cell_of(fast)
    profiled = cell.model_copy(update={"workload": workload})
    kept = read_bundle(bundle_path(tmp_path / "profiled", slow.run_id))
    head = kept.manifest.model_copy(update={"workload": workload, "run_id": profiled.run_id(1)})
    plain = read_bundle(bundle_path(tmp_path / "plain", fast.run_id))
    files = {name: data for name, data in plain.files.items() if not name.endswith(".folded")}
    write_bundle(tmp_path, head, kept.files)
    write_bundle(tmp_path, plain.manifest, files)
    side = read_side(tmp_path, cell, 1)
    assert side.runs == 1
    assert len(side.steps[POINT].values["qps"]) == 1
    assert side.steps[POINT].stacks.total() == 150


def test_a_change_of_spread_is_variance_and_says_nothing_of_the_level(
    plan: Plan, tmp_path: Path
) -> None:
    shifts = [
        of_plan(plan, shift(BAD, 4.0, step=POINT)).model_copy(
            update={"kind": RegressionKind.SPREAD}
        )
    ]
    (found,) = group_shifts(shifts)
    explanation, _ = explain(found, plan, tmp_path, 0.03)
    reported = {finding.kind: finding.evidence for finding in explanation.steps[0].findings}
    assert reported[SlowdownClass.VARIANCE] == (
        "standard deviation of qps between runs 100 -> 500 (x5.00)",
    )


def test_what_was_explained_is_kept_with_its_class(plan: Plan, tmp_path: Path) -> None:
    found = explained(plan, tmp_path)
    results = tmp_path / "results"
    known = regression(plan)
    assert class_of(known, results) == ""
    path = save_explained(found, results)
    assert class_of(known, results) == "plan change"
    # What was said of other revisions is not known of these.
    assert class_of(known.model_copy(update={"first_bad": "17.3"}), results) == ""
    assert len(list(path.parent.glob("*.svg"))) == 3
    path.write_text("{")
    assert class_of(known, results) == ""


def confirmed(plan: Plan, results: Path, verdict: Verdict = "confirmed") -> None:
    """Measure one step of both sides again, six times, in which it is slower by a half."""
    good, bad = plan.cells
    workload = good.workload.model_copy(
        update={"steps": tuple(step for step in good.workload.steps if step.name == POINT)}
    )
    base, head = (cell.model_copy(update={"workload": workload}) for cell in (good, bad))
    fingerprint = regression(plan).fingerprint
    experiment = Experiment(
        kind=f"confirm-{fingerprint}",
        base=base,
        head=head,
        question=Question(figures=(Figure(POINT, "qps"),)),
    )
    folder = experiment.folder(results)
    for attempt in range(1, 7):
        for cell in (base, head, experiment.pair.control):
            manifest, files = make_run(
                BAD if cell == head else GOOD,
                attempt,
                faster=(1 + attempt / 500) / (2.0 if cell == head else 1.0),
            )
            named = {
                "steps": tuple(each for each in manifest.steps if each.step.name == POINT),
                "run_id": cell.run_id(attempt),
                "revision": cell.revision,
                "workload": workload,
            }
            write_bundle(folder / "bundles", manifest.model_copy(update=named), files)
    outcome = ConfirmOutcome(
        fingerprint=fingerprint,
        at=datetime(2026, 3, 1, tzinfo=UTC),
        kind=RegressionKind.LEVEL,
        worse=True,
        evidence="",
        verdict=verdict,
        blocks=6,
        minutes=1.0,
        rows=(),
    )
    (folder / OUTCOME).write_text(outcome.model_dump_json())


def test_the_runs_that_confirmed_it_are_the_better_evidence(plan: Plan, tmp_path: Path) -> None:
    results = tmp_path / "results"
    confirmed(plan, results)
    explanation, _ = explained(plan, tmp_path, POINT, WRITE, results=results)
    again, night = explanation.steps
    (qps,) = (each for each in again.figures if each.metric == "qps")
    assert qps.runs == (12, 6)
    assert qps.ratio == pytest.approx(0.5, rel=0.02)
    assert (again.again, night.again) == (True, False)
    assert night.figures[0].runs == (REPETITIONS, REPETITIONS)
    # What only the nights recorded is still there.
    assert again.plans
    text = explanation_markdown(explanation)
    assert "From 12 runs before and 6 after of the experiment that confirmed it." in text


def test_runs_between_which_the_machine_moved_are_no_evidence(plan: Plan, tmp_path: Path) -> None:
    results = tmp_path / "results"
    confirmed(plan, results, "environment")
    explanation, _ = explained(plan, tmp_path, results=results)
    assert not explanation.steps[0].again
    assert explanation.steps[0].figures[0].runs == (REPETITIONS, REPETITIONS)
