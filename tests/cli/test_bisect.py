"""The verb bisect: what is refused before anything is measured, and how results are printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.bisect import as_json, show
from pipeline.experiments.bisect import Bisected, LocatedChange, RevisionDifference
from pipeline.measure.discover import discovered
from tests.cli.conftest import Nightshift

ASKED = ("bisect", "--line", "minors", "--good", "17.9", "--bad", "17.11")

WORSE = RevisionDifference(
    step="insert", metric="qps", effect=-0.105, interval=(-0.13, -0.085), verdict="worse"
)
SAME = RevisionDifference(
    step="insert", metric="qps", effect=0.001, interval=(-0.02, 0.02), verdict="same"
)
CULPRIT = LocatedChange(
    culprit="c20",
    parent="c18",
    between=("c19",),
    probability=0.99897,
    confirmed=True,
    rows=(WORSE,),
)


def bisected(
    found: tuple[LocatedChange, ...], ends: tuple[RevisionDifference, ...] = (WORSE,)
) -> Bisected:
    return Bisected(good="c0", bad="c39", found=found, ends=ends, builds=8, runs=42)


@pytest.fixture(autouse=True)
def _offline(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = discovered(folder / "results")
    monkeypatch.setattr("pipeline.use_cases.bisect.discover", lambda *_, **__: found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--metric", "qpss"), "there is no metric 'qpss'; did you mean qps?"),
        (("--budget", "30"), "--budget: '30' is not a duration"),
        (("--smallest", "2"), "--smallest: '2' is not a percentage"),
        (("--budget", "0s"), "--budget must be above zero, not 0s"),
        (("--step", "point-qury"), "did you mean point-query"),
        (("--bad", "17.8"), "maven has no postgres 17.8"),
    ],
)
def test_what_is_refused(nightshift: Nightshift, options: tuple[str, ...], message: str) -> None:
    ran = nightshift(*ASKED, *options)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1


def test_json_has_the_largest_change_in_front() -> None:
    small = CULPRIT.model_copy(update={"culprit": "c5", "rows": (SAME,)})
    tree = as_json(bisected((small, CULPRIT)))
    assert {key: tree[key] for key in ("outcome", "culprit", "parent", "builds", "runs")} == {
        "outcome": "culprit",
        "culprit": "c20",
        "parent": "c18",
        "builds": 8,
        "runs": 42,
    }
    assert tree["probability"] == 0.99897
    assert (tree["effect"], tuple(tree["effect_interval"])) == (-0.105, (-0.13, -0.085))
    assert [found["culprit"] for found in tree["found"]] == ["c5", "c20"]


def test_json_without_a_change() -> None:
    tree = as_json(bisected((), (SAME,)))
    assert (tree["outcome"], tree["culprit"], tree["effect"]) == ("no change", None, 0.001)


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(result: Any) -> list[str]:
        show(result)
        return capsys.readouterr().out.splitlines()

    assert shown(bisected((CULPRIT,))) == [
        "culprit  c20, or c19 (not measured); parent c18 (99.8 %, confirmed)",
        "  worse      insert qps  -10.5% (-13.0% to -8.5%)",
        "8 builds, 42 runs",
    ]
    ranged = CULPRIT.model_copy(update={"confirmed": False})
    assert shown(bisected((ranged,)))[0] == "range    after c18 and up to c20 (99.8 %)"
    assert shown(bisected((), (SAME,)))[0] == "c0 and c39 do not differ"
    undecided = SAME.model_copy(update={"verdict": "undecided"})
    assert shown(bisected((), (undecided,)))[0] == ("c0 and c39 may or may not differ (undecided)")
