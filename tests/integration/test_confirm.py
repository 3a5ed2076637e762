"""The verb confirm on a real DBMS: two copies of one build, of which one is suspected."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.analyse.confirm import OUTCOME, Outcome, experiment_of, outcome_in
from pipeline.analyse.detection import Detected, load_detected
from pipeline.analyse.record import write_whole
from pipeline.analyse.regressions import group_shifts
from pipeline.analyse.settle import settle
from pipeline.cli.context import Context
from pipeline.journal import now
from pipeline.model import Build, Shift
from tests.analyse.samples import shift
from tests.integration.nights import Night, leftovers, make_night

pytestmark = pytest.mark.integration


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


def suspect(night: Night) -> str:
    """Write down a regression of the copy that nobody measured; return its fingerprint."""
    context = Context()
    plan = context.plan()
    (line,) = plan.lines
    cell = line.cells[0]
    told: Shift = shift(1, 0.5, step="point-query_range=100", metric="cpu_us/o", line=line.name)
    key = told.series.model_copy(
        update={
            "target": "sqlite",
            "workload_hash": cell.workload.hash,
            "config": cell.config.family,
            "build_options": cell.build_options,
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
    fingerprint = suspect(night)
    refused = night.run("confirm", "other", code=2).stderr
    assert "no suspected regression is called other" in refused
    config = night.folder / "nightshift.toml"
    settings = config.read_text()
    config.write_text(settings + 'night = "0s"\n')
    assert night.run("confirm").stdout == "1 regression left for another night\n"
    config.write_text(settings)
    (outcome,) = night.json("confirm")
    assert (outcome["fingerprint"], outcome["verdict"]) == (fingerprint, "rejected")
    (row,) = outcome["rows"]
    assert (row["step"], row["metric"]) == ("point-query_range=100", "cpu_us/o")
    (folder,) = (night.folder / "results/experiments").iterdir()
    assert json.loads((folder / "outcome.json").read_text()) == outcome
    bundles = {path.name: path.stat().st_mtime_ns for path in (folder / "bundles").iterdir()}
    assert len(bundles) == 3 * outcome["blocks"]
    (known,) = night.json("regressions")
    assert (known["fingerprint"], known["state"]) == (fingerprint, "rejected")
    assert night.run("confirm").stdout == "no regression is suspected\n"
    assert bundles == {
        path.name: path.stat().st_mtime_ns for path in (folder / "bundles").iterdir()
    }
    assert leftovers(cache) == []


def test_where_the_machine_moved_it_begins_anew(night: Night) -> None:
    fingerprint = suspect(night)
    context = Context()
    plan = context.plan()
    (regression,) = load_detected(context.results, plan).regressions
    settings = context.config.confirm
    experiment = experiment_of(regression, plan, settings)
    folder = experiment.folder(context.results)
    moved = Outcome(fingerprint=fingerprint, verdict="environment", blocks=3, minutes=1.0, rows=())
    write_whole(folder / OUTCOME, moved.model_dump_json())
    config = night.folder / "nightshift.toml"
    config.write_text(config.read_text() + 'night = "0s"\n')
    assert night.json("confirm") == []
    aside = folder.parent / "aside" / f"{folder.name}.1"
    assert outcome_in(aside) == moved
    # What is clear stays, whatever the night has left, until it is reopened.
    clear = moved.model_copy(update={"verdict": "rejected"})
    write_whole(experiment.folder(context.results) / OUTCOME, clear.model_dump_json())
    assert night.json("confirm") == [clear.model_dump(mode="json")]
    assert "nightshift reopen" in night.run("confirm", fingerprint, code=2).stderr
    night.run("reopen", fingerprint)
    assert night.json("confirm", fingerprint, "--again") == []
    assert outcome_in(folder) is None
