"""The verb confirm on a real DBMS: two copies of one build, of which one is suspected."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.config import DetectSection
from pipeline.model import Build, Shift
from pipeline.regressions.detected import Detected
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.reconcile import reconcile
from pipeline.storage.journal import now
from pipeline.use_cases.measuring import MeasuringContext
from tests.nights import Night, leftovers, make_night
from tests.regressions.samples import shift


@pytest.fixture
def night(
    tmp_path: Path, sqlite_builds: Callable[..., Build], monkeypatch: pytest.MonkeyPatch
) -> Night:
    sqlite_builds("3.46.0", "rel_o2nofp")
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


def suspect() -> str:
    """Write down a change of the copy that nobody measured; return its fingerprint."""
    context = MeasuringContext()
    plan = context.plan()
    (line,) = plan.lines
    cell = line.cells[0]
    reported: Shift = shift(
        1,
        0.5,
        step="point-query_range=100",
        metric="cpu_us/o",
        line=line.name,
        worse=True,
        pvalue=0.001,
    )
    key = reported.series.model_copy(
        update={
            "target": "sqlite",
            "workload_hash": cell.workload.hash,
            "config": cell.config.family,
            "build_options": cell.build_options,
            "machine_class": cell.machine_class,
        }
    )
    (regression,) = group_shifts(
        [
            reported.model_copy(
                update={"series": key, "last_good": "3.46.0", "first_bad": "3.46.0#2"}
            )
        ]
    )
    detected = Detected(plan=plan.hash, series=1, regressions=(regression,))
    named = reconcile(detected, plan, [], DetectSection(), context.results, now())
    return named.regressions[0].fingerprint


def test_what_is_no_regression_is_rejected(night: Night, cache: Path) -> None:
    fingerprint = suspect()
    said = night.run("confirm").stdout
    # A note may follow: of a block in which no processor time was seen there is no ratio.
    assert re.match(
        rf"rejected     {fingerprint}  worse   line: 3\.46\.0 -> 3\.46\.0#2  [+-]\d+\.\d%  "
        r"point-query_range=100 cpu_us/o  \d+ blocks in \w+",
        said,
    ), said
    (folder,) = (night.folder / "results/experiments").iterdir()
    outcome = json.loads((folder / "outcome.json").read_text())
    assert (outcome["fingerprint"], outcome["verdict"]) == (fingerprint, "rejected")
    (row,) = outcome["rows"]
    assert (row["step"], row["metric"]) == ("point-query_range=100", "cpu_us/o")
    assert len(list((folder / "bundles").iterdir())) == 3 * outcome["blocks"]
    (known,) = night.json("regressions")
    assert (known["fingerprint"], known["state"]) == (fingerprint, "rejected")
    assert leftovers(cache) == []
