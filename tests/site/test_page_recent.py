from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.measure.plan import Plan
from pipeline.regressions.detected import Detected
from pipeline.regressions.grouping import group_shifts
from pipeline.site.night.recent import moved, recent
from tests.regressions.samples import shift
from tests.site.page_store import BEGAN, make_store
from tests.site.pages import report_page

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
    shown, positions = recent(plan, found, 40)
    assert shown == plan
    assert positions == {"minors": list(range(40)), "short": [0, 1, 2]}
    assert moved(found, positions) == found


def test_the_newest_the_first_and_what_is_around_changes_is_shown(plan: Plan) -> None:
    found = detected(plan, (12, 11, 14))
    shown, positions = recent(plan, found, 5, 4)
    kept = [0, 10, 11, 12, 14, 15, 36, 37, 38, 39]
    assert labels(shown, "minors") == [LABELS[place] for place in kept]
    assert labels(shown, "short") == LABELS[:3]
    assert positions == {"minors": kept, "short": [0, 1, 2]}
    (regression,) = moved(found, positions).regressions
    (change,) = regression.shifts
    places = (change.earliest, change.position, change.latest)
    assert [labels(shown, "minors")[place] for place in places] == ["17.11", "17.12", "17.14"]
    assert regression.position == change.position
    assert (change.last_good, change.first_bad) == ("17.11", "17.12")


def test_of_many_changes_the_newest_are_shown(plan: Plan) -> None:
    """Changes of years ago would make the page of each night as long as the line."""
    found = detected(plan, *((place, place, place) for place in range(2, 36, 3)))
    shown, positions = recent(plan, found, 10, 6)
    kept = [0, 31, 32, 33, *range(34, 40)]
    assert positions["minors"] == kept
    assert labels(shown, "minors") == [LABELS[place] for place in kept]
    seen = moved(found, positions).regressions
    assert sorted(kept[each.position] for each in seen) == [32, 35]


def test_changes_at_the_ends_are_shown(plan: Plan) -> None:
    found = detected(plan, (1, 1, 1), (39, 38, 39))
    shown, positions = recent(plan, found, 3, 6)
    kept = labels(shown, "minors")
    assert len(moved(found, positions).regressions) == 2
    for regression in moved(found, positions).regressions:
        assert kept[regression.position] == regression.first_bad


def test_the_page_of_a_long_line_is_bounded_and_says_so(tmp_path: Path) -> None:
    many = [f"17.{n}" for n in range(130)]
    store, plan = make_store(tmp_path, {"minors": many}, repetitions=1)
    assert len(plan.cells) == 130, "the page derives its own from the revisions that it shows"
    path = report_page(tmp_path / "r.html", store, plan, detected(plan, (12, 12, 12)), BEGAN)
    page = path.read_text(encoding="utf-8")
    # The first, three around the change, and 25 newest.
    assert "101 others are left out" in page
    assert "not in the store yet" not in page, "every run was measured"
    assert "17.12" in page
    assert ">17.20<" not in page and '"17.20"' not in page
    assert '"17.129"' in page
