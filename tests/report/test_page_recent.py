from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.analyse.detected import Detected
from pipeline.analyse.regressions import group_shifts
from pipeline.config import ReportSection
from pipeline.execute.plan import Plan
from pipeline.report.page.recent import recent
from pipeline.report.page.write import render_page
from tests.analyse.samples import shift
from tests.report.page_store import BEGAN, make_store

LABELS = [f"17.{n}" for n in range(40)]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    lines = {"minors": LABELS, "short": LABELS[:3]}
    _, plan = make_store(tmp_path_factory.mktemp("s"), lines, left_out=LABELS, repetitions=1)
    return plan


def detected(plan: Plan, *places: tuple[int, int, int]) -> Detected:
    """What changed at (position, earliest, latest)."""
    shifts = [shift(position, interval=(earliest, latest)) for position, earliest, latest in places]
    return Detected(plan=plan.hash, series=1, regressions=tuple(group_shifts(shifts)))


def labels(plan: Plan, line: str) -> list[str]:
    (found,) = (each for each in plan.lines if each.name == line)
    assert {cell.revision.label for cell in found.cells} == {r.label for r in found.revisions}
    return [revision.label for revision in found.revisions]


def test_short_lines_are_shown_whole(plan: Plan) -> None:
    found = detected(plan, (12, 11, 14))
    assert recent(plan, found, 40) == (plan, found, {"minors": 0, "short": 0})


def test_the_newest_the_first_and_what_is_around_changes_is_shown(plan: Plan) -> None:
    shown, moved, left_out = recent(plan, detected(plan, (12, 11, 14)), 5)
    kept = [0, 10, 11, 12, 14, 15, 36, 37, 38, 39]
    assert labels(shown, "minors") == [LABELS[place] for place in kept]
    assert labels(shown, "short") == LABELS[:3]
    assert left_out == {"minors": 30, "short": 0}
    (regression,) = moved.regressions
    (change,) = regression.shifts
    places = (change.earliest, change.position, change.latest)
    assert [labels(shown, "minors")[place] for place in places] == ["17.11", "17.12", "17.14"]
    assert regression.position == change.position
    assert (change.last_good, change.first_bad) == ("17.11", "17.12")


def test_changes_at_the_ends_are_shown(plan: Plan) -> None:
    shown, moved, _ = recent(plan, detected(plan, (1, 1, 1), (39, 38, 39)), 3)
    kept = labels(shown, "minors")
    for regression in moved.regressions:
        assert kept[regression.position] == regression.first_bad


def test_the_page_of_a_long_line_is_bounded_and_says_so(tmp_path: Path) -> None:
    many = [f"17.{n}" for n in range(130)]
    store, plan = make_store(tmp_path, {"minors": many}, repetitions=1)
    page = render_page(store, plan, detected(plan, (12, 12, 12)), ReportSection(), {}, BEGAN)
    # The first, three around the change, and 99 newest.
    assert "27 others are left out" in page
    assert "17.12" in page
    assert ">17.20<" not in page and '"17.20"' not in page
    assert '"17.129"' in page
