from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from pipeline.analyse.regressions import group_shifts
from pipeline.model import Culprit, Regression, RegressionState, Shift
from pipeline.notify.directory import issue_name, issue_text, write_issues
from tests.analyse.samples import shift

REPRODUCE = "nightshift nightly --config nightshift.toml"


def regression(*shifts: Shift) -> Regression:
    (found,) = group_shifts(shifts or [shift(11, -0.2)])
    return found


WORSE = regression(shift(11, -0.2, step="scan_range=100"), shift(11, 0.3, metric="cpu_us/o"))
BETTER = regression(shift(11, 0.25, worse=False))
OTHER = regression(shift(12, -0.5))


def told(regression: Regression) -> str:
    return REPRODUCE


def confirmed(found: Regression) -> Regression:
    return found.model_copy(update={"state": RegressionState.CONFIRMED})


def table_of(text: str) -> list[list[str]]:
    """Return the cells of the markdown table, told apart as markdown does."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[c.strip() for c in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def test_the_file_is_named_by_line_revision_kind_and_identity() -> None:
    assert issue_name(WORSE) == f"minors-17.11-regression-{WORSE.fingerprint}.md"


def test_names_of_revisions_are_made_fit_for_files() -> None:
    for label in ("17.11#2", "feature/x", "../up", "a b"):
        name = issue_name(WORSE.model_copy(update={"first_bad": label}))
        assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
        assert "/" not in name


def test_a_regression_says_what_since_when_and_how_to_see_it_again() -> None:
    assert issue_text(WORSE, REPRODUCE) == (
        f"<!-- nightshift regression {WORSE.fingerprint} -->\n"
        "# Suspected regression in postgres 17.11: scan +30.0% cpu_us/o\n"
        "\n"
        "- line: minors\n"
        "- last good: 17.10\n"
        "- first bad: 17.11\n"
        "- state: suspected\n"
        f"- fingerprint: {WORSE.fingerprint}\n"
        "- series that changed: 2, in 2 steps\n"
        "\n"
        "| step | metric | before | after | change | 95 % interval | p |\n"
        "| :--- | :--- | ---: | ---: | ---: | :---: | ---: |\n"
        "| scan | cpu_us/o (us) | 100 | 130 | +30.0% | +29.0% to +31.0% | 0.001 |\n"
        "| scan_range=100 | qps (1/s) | 100 | 80 | -20.0% | -21.0% to -19.0% | 0.001 |\n"
        "\n"
        "Change is relative to the level before, or in the metric's unit if that was zero. p is"
        " of\n"
        "the change point, corrected for having searched for it. This was measured in one night\n"
        "and not yet again.\n"
        "\n"
        "## Reproduce\n"
        "\n"
        f"    {REPRODUCE}\n"
    )


def test_the_culprit_stands_in_front() -> None:
    named = Culprit(
        revision="c0ffee",
        parent="b0ffee",
        probability=0.9999,
        confirmed=True,
        subject="Plan | more (A. Person)",
    )
    found = WORSE.model_copy(update={"culprit": named})
    text = issue_text(found, REPRODUCE)
    assert "# Suspected regression in postgres c0ffee: scan +30.0% cpu_us/o\n" in text
    assert (
        "- first bad: 17.11\n- culprit: c0ffee: Plan \\| more (A. Person); its parent is b0ffee\n"
    ) in text
    skipped = named.model_copy(update={"between": ("b1", "b2")})
    text = issue_text(WORSE.model_copy(update={"culprit": skipped}), REPRODUCE)
    assert ", or b1, b2 (not measured); its parent is b0ffee\n" in text


def test_a_range_is_told_as_one() -> None:
    named = Culprit(revision="c0ffee", parent="b0ffee", probability=0.967, confirmed=False)
    text = issue_text(WORSE.model_copy(update={"culprit": named}), REPRODUCE)
    assert "- culprit: after b0ffee and up to c0ffee with 96 %\n" in text
    assert "# Suspected regression in postgres 17.11: " in text


def test_one_step_is_not_called_steps() -> None:
    assert "- series that changed: 1, in 1 step\n" in issue_text(OTHER, REPRODUCE)


@pytest.mark.parametrize("step", ["a|b", "a\nb", "a\\|b", "|", "a\r\n| b |"])
def test_strange_names_stay_in_their_cells(step: str) -> None:
    rows = table_of(issue_text(regression(shift(11, step=step)), REPRODUCE))
    assert [len(row) for row in rows] == [7, 7, 7]
    assert rows[2][2:5] == ["100", "80", "-20.0%"]


def test_a_metric_without_a_known_unit_has_none() -> None:
    rows = table_of(issue_text(regression(shift(11, metric="theirs")), REPRODUCE))
    assert rows[2][1] == "theirs"


def test_every_regression_is_a_file_and_new_once(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "issues"
    first = confirmed(WORSE)
    new, written = write_issues([[first], [confirmed(BETTER)]], folder, told)
    assert new == written == [folder / issue_name(WORSE)]
    assert written[0].read_text() == issue_text(first, REPRODUCE)

    # More is known of it now, and it lies elsewhere.
    again = first.model_copy(update={"first_bad": "17.10", "shifts": WORSE.shifts[:1]})
    other = confirmed(OTHER)
    new, written = write_issues([[again], [other]], folder, told)
    assert new == [folder / issue_name(other)]
    assert written == [folder / issue_name(WORSE), folder / issue_name(other)]
    assert written[0].read_text() == issue_text(again, REPRODUCE), "brought up to date"

    write_issues([[other]], folder, told)
    # What is no longer found is not closed by silence, and nothing half written is left.
    assert {path.name for path in folder.iterdir()} == {issue_name(one) for one in (WORSE, other)}


def test_nothing_is_filed_before_it_was_measured_again(tmp_path: Path) -> None:
    assert write_issues([[WORSE]], tmp_path, told) == ([], [])
    known = WORSE.model_copy(update={"state": RegressionState.ACKNOWLEDGED})
    assert write_issues([[known]], tmp_path, told, suspected=True) == ([], [])
    (path,), _ = write_issues([[WORSE]], tmp_path, told, suspected=True)
    assert path.name == issue_name(WORSE)
    # What is written of is kept up to date, whatever becomes of it.
    for state in RegressionState:
        now = WORSE.model_copy(update={"state": state})
        assert write_issues([[now]], tmp_path, told) == ([], [path])
        assert f"- state: {state.value}\n" in path.read_text()


def test_one_culprit_is_one_file(tmp_path: Path) -> None:
    named = Culprit(revision="c0ffee", parent="b0ffee", probability=0.999, confirmed=True)
    one, two = (confirmed(found).model_copy(update={"culprit": named}) for found in (WORSE, OTHER))
    (path,), written = write_issues([[one, two]], tmp_path, told)
    assert written == [path]
    text = path.read_text()
    assert path.name == issue_name(one)
    assert (
        "## By the same culprit\n\n"
        f"- minors, 17.11 to 17.12: scan -50.0% qps (confirmed, {two.fingerprint})\n\n"
        "## Reproduce\n"
    ) in text
    # What is filed keeps its file, whichever comes first, and a settled one hides no other.
    assert write_issues([[two, one]], tmp_path, told) == ([], [path])
    assert path.read_text() == text
    settled = one.model_copy(update={"state": RegressionState.REJECTED})
    (other,), _ = write_issues([[settled, two]], tmp_path / "elsewhere", told)
    assert other.name == issue_name(two)


def test_nothing_found_is_an_empty_folder(tmp_path: Path) -> None:
    assert write_issues([], tmp_path / "issues", told) == ([], [])
    assert list((tmp_path / "issues").iterdir()) == []


def test_a_change_from_zero_is_told_in_its_own_unit() -> None:
    stall = shift(11, math.inf, metric="stall_s").model_copy(update={"before": 0.0, "after": 5.0})
    text = issue_text(regression(stall), REPRODUCE)
    assert "# Suspected regression in postgres 17.11: scan +5 s stall_s\n" in text
    assert "| scan | stall_s (s) | 0 | 5 | +5 s | – | 0.001 |" in text
