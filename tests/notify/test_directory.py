from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.model import Culprit, Regression, RegressionState
from pipeline.notify.base import Cause, Notice, SinkResult
from pipeline.notify.base.preview import Preview
from pipeline.notify.base.text import Facts, notice
from pipeline.notify.directory import DirectorySink, files, issue_name, issue_text
from pipeline.text.errors import UserError
from tests.notify.samples import BETTER, OTHER, WORSE, confirmed, stated


def words(regression: Regression, beside: Sequence[Regression]) -> Notice:
    return notice(regression, beside, Facts(reproduce="nightshift nightly"))


def report(folder: Path, *groups: Sequence[Regression], suspected: bool = False) -> SinkResult:
    causes = [Cause(regressions=tuple(each)) for each in groups]
    return DirectorySink(folder).report(causes, words, suspected=suspected)


def places(result: SinkResult) -> list[tuple[Path, bool, bool]]:
    return [(Path(action.place), action.new, action.changed) for action in result.actions]


def test_the_file_is_named_by_line_revision_kind_and_identity() -> None:
    assert issue_name(WORSE) == f"minors-17.11-regression-{WORSE.fingerprint}.md"


@pytest.mark.parametrize("label", ["17.11#2", "feature/x", "../up", "a b", "x-regression-0.md"])
def test_names_of_revisions_are_made_fit_for_files(tmp_path: Path, label: str) -> None:
    found = WORSE.model_copy(update={"first_bad": label})
    name = issue_name(found)
    assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
    assert "/" not in name
    report(tmp_path, [confirmed(found)])
    assert files(tmp_path) == {WORSE.fingerprint: tmp_path / name}


def test_a_file_begins_with_its_marker_and_its_title() -> None:
    written = words(WORSE, ())
    assert issue_text(written) == (
        f"<!-- nightshift regression {WORSE.fingerprint} -->\n"
        "# Suspected regression in postgres 17.11: scan +30.0% cpu_us/o\n\n" + written.body
    )


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "issues").write_text("")
    with pytest.raises(UserError, match="issues cannot be written: File exists"):
        report(tmp_path / "issues", [confirmed(WORSE)])


def test_a_file_that_is_no_text_any_more_is_written_anew(tmp_path: Path) -> None:
    (action,) = report(tmp_path, [confirmed(WORSE)]).actions
    before = Path(action.place).read_text()
    Path(action.place).write_bytes(b"\xff\xfe")
    assert report(tmp_path, [confirmed(WORSE)]).actions[0].changed
    assert Path(action.place).read_text() == before


def test_every_regression_is_a_file_and_new_once(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "issues"
    first, other = confirmed(WORSE), confirmed(OTHER)
    path = folder / issue_name(WORSE)
    assert places(report(folder, [first], [confirmed(BETTER)])) == [(path, True, True)]
    assert path.read_text() == issue_text(words(first, ()))
    assert places(report(folder, [first])) == [(path, False, False)]

    # More is known of it now, and it lies elsewhere.
    again = first.model_copy(update={"first_bad": "17.10", "shifts": WORSE.shifts[:1]})
    result = report(folder, [again], [other])
    assert places(result) == [(path, False, True), (folder / issue_name(other), True, True)]
    assert path.read_text() == issue_text(words(again, ())), "brought up to date"

    report(folder, [other])
    # What is no longer found is not closed by silence, and nothing half written is left.
    assert {path.name for path in folder.iterdir()} == {issue_name(one) for one in (WORSE, other)}


def test_what_is_written_of_is_kept_up_to_date_whatever_becomes_of_it(tmp_path: Path) -> None:
    assert report(tmp_path, [WORSE]).actions == ()
    ((path, new, _),) = places(report(tmp_path, [WORSE], suspected=True))
    assert new
    for state in RegressionState:
        report(tmp_path, [stated(WORSE, state)])
        assert f"- state: {state.value}\n" in path.read_text()


def test_one_culprit_is_one_file(tmp_path: Path) -> None:
    named = Culprit(revision="c0ffee", parent="b0ffee", probability=0.999, confirmed=True)
    one, two = (confirmed(found).model_copy(update={"culprit": named}) for found in (WORSE, OTHER))
    ((path, new, _),) = places(report(tmp_path, [one, two]))
    assert (path.name, new) == (issue_name(one), True)
    text = path.read_text()
    assert (
        "## Other regressions with the same culprit\n\n- minors, `17.11` to `17.12`: scan "
        "-50.0% qps"
    ) in text
    # What is filed keeps its file, whichever comes first.
    assert places(report(tmp_path, [two, one])) == [(path, False, False)]


def test_nothing_found_is_an_empty_folder(tmp_path: Path) -> None:
    assert report(tmp_path / "issues") == SinkResult()
    assert list((tmp_path / "issues").iterdir()) == []


def test_what_would_be_written_is_shown_and_not_written(tmp_path: Path) -> None:
    shown: list[Preview] = []
    folder = tmp_path / "issues"
    sink = DirectorySink(folder, shown.append)
    result = sink.report([Cause(regressions=(confirmed(WORSE),))], words, suspected=False)
    (preview,) = shown
    assert (preview.sink, preview.method) == ("directory", "write")
    assert preview.place == result.actions[0].place == str(folder / issue_name(WORSE))
    assert preview.payload == issue_text(words(confirmed(WORSE), ()))
    assert not folder.exists()
    assert sink.decisions() == ()
