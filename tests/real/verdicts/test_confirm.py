"""The verb confirm on a real DBMS: two copies of one build, of which one is suspected."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.analyse.confirm import (
    OUTCOME,
    Outcome,
    evidence_of,
    experiment_of,
    outcome_in,
    suspected,
)
from pipeline.analyse.detected import Detected, load_detected
from pipeline.analyse.regressions import group_shifts
from pipeline.analyse.settle import settle
from pipeline.cli.confirm import confirm_all
from pipeline.cli.measuring import MeasuringContext
from pipeline.durable import write_whole
from pipeline.execute.watch import Silent
from pipeline.journal import now
from pipeline.model import Build, Shift
from tests.analyse.samples import shift
from tests.nights import Night, leftovers, make_night


@pytest.fixture
def night(
    tmp_path: Path, sqlite_builds: Callable[[str], Build], monkeypatch: pytest.MonkeyPatch
) -> Night:
    sqlite_builds("3.46.0")
    made = make_night(
        tmp_path,
        revisions=["3.46.0", "3.46.0#2"],
        steps=["point-query", "scan"],
        target="sqlite",
        config="wal",
        more='\n[confirm]\nsmallest_effect = "40%"\nbudget = "3m"\n',
    )
    made.run("discover")
    monkeypatch.chdir(tmp_path)
    return made


def suspect(*, pvalue: float = 0.001, worse: bool = True) -> str:
    """Write down a change of the copy that nobody measured; return its fingerprint."""
    context = MeasuringContext()
    plan = context.plan()
    (line,) = plan.lines
    cell = line.cells[0]
    told: Shift = shift(
        1,
        0.5,
        step="point-query_range=100",
        metric="cpu_us/o",
        line=line.name,
        worse=worse,
        pvalue=pvalue,
    )
    key = told.series.model_copy(
        update={
            "target": "sqlite",
            "workload_hash": cell.workload.hash,
            "config": cell.config.family,
            "build_options": cell.build_options,
            "machine_class": cell.machine_class,
        }
    )
    (regression,) = group_shifts(
        [told.model_copy(update={"series": key, "last_good": "3.46.0", "first_bad": "3.46.0#2"})]
    )
    detected = Detected(plan=plan.hash, series=1, regressions=(regression,))
    named = settle(detected, plan, [], 0.02, context.results, context.store, now())
    return named.regressions[0].fingerprint


def test_what_is_no_regression_is_rejected_once(night: Night, cache: Path) -> None:
    refused = night.run("confirm", code=2).stderr
    assert "run `nightshift detect`" in refused
    fingerprint = suspect()
    refused = night.run("confirm", "other", code=2).stderr
    assert "nothing suspected is called other" in refused
    config = night.folder / "nightshift.toml"
    settings = config.read_text()
    config.write_text(settings + 'night = "0s"\n')
    assert night.run("confirm").stdout == "1 suspicion left for another night\n"
    config.write_text(settings)
    said = night.run("confirm").stdout
    assert re.fullmatch(
        rf"rejected     {fingerprint}  worse   line: 3\.46\.0 -> 3\.46\.0#2  [+-]\d+\.\d%  "
        r"point-query_range=100 cpu_us/o  \d+ blocks in \w+\n",
        said,
    ), said
    (folder,) = (night.folder / "results/experiments").iterdir()
    outcome = json.loads((folder / "outcome.json").read_text())
    assert (outcome["fingerprint"], outcome["verdict"]) == (fingerprint, "rejected")
    (row,) = outcome["rows"]
    assert (row["step"], row["metric"]) == ("point-query_range=100", "cpu_us/o")
    bundles = {path.name: path.stat().st_mtime_ns for path in (folder / "bundles").iterdir()}
    assert len(bundles) == 3 * outcome["blocks"]
    (known,) = night.json("regressions")
    assert (known["fingerprint"], known["state"]) == (fingerprint, "rejected")
    assert night.json("confirm") == []
    assert bundles == {
        path.name: path.stat().st_mtime_ns for path in (folder / "bundles").iterdir()
    }
    assert leftovers(cache) == []


def test_what_was_reopened_is_measured_anew(night: Night) -> None:
    fingerprint = suspect()
    context = MeasuringContext()
    plan = context.plan()
    (regression,) = load_detected(context.results, plan).regressions
    experiment = experiment_of(regression, plan, context.config.confirm)
    folder = experiment.folder(context.results)
    clear = Outcome(
        fingerprint=fingerprint,
        at=now(),
        kind=regression.kind,
        worse=True,
        evidence=evidence_of(regression),
        verdict="rejected",
        blocks=3,
        minutes=1.0,
        rows=(),
    )
    write_whole(folder / OUTCOME, clear.model_dump_json())
    config = night.folder / "nightshift.toml"
    config.write_text(config.read_text() + 'night = "0s"\n')
    # What a verb left that was killed is taken first.
    assert night.run("confirm").stdout == "nothing is suspected\n"
    assert "nightshift reopen" in night.run("confirm", fingerprint, code=2).stderr
    night.run("reopen", fingerprint)
    assert night.run("confirm").stdout == "1 suspicion left for another night\n"
    aside = folder.parent / "aside" / f"{folder.name}.1"
    assert (outcome_in(aside), outcome_in(folder)) == (clear, None)
    (known,) = night.json("regressions")
    assert known["state"] == "suspected"


def test_undecided_ones_wait_for_more_evidence(night: Night) -> None:
    config = night.folder / "nightshift.toml"
    config.write_text(config.read_text().replace("40%", "0.1%").replace('"3m"', '"0s"'))
    fingerprint = suspect(worse=False)

    def confirmed(**asked: bool) -> Outcome:
        context = MeasuringContext()
        plan = context.plan()
        regressions = suspected(load_detected(context.results, plan).regressions)
        (outcome,) = confirm_all(context, plan, regressions, Silent(), **asked)
        assert (outcome.fingerprint, outcome.worse) == (fingerprint, False)
        return outcome

    first = confirmed(go_on=False)
    assert (first.verdict, first.blocks) == ("undecided", 1)
    # No more is known since; so nothing is measured.
    assert confirmed(go_on=False) == first
    suspect(worse=False, pvalue=0.0001)
    second = confirmed(go_on=False)
    assert second.at > first.at
    assert confirmed().at > second.at
    again = confirmed(again=True)
    assert again.blocks == 1
