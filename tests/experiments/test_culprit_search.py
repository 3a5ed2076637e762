"""What is bisected for a regression, and what its answer says."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import ConfigFile
from pipeline.experiments.bisect import Bisected, LocatedChange, RevisionDifference
from pipeline.experiments.culprit_search import Search, answer, culprit_of, search_for, to_locate
from pipeline.experiments.experiment import Figure
from pipeline.measure.discover import Discovered, commit_revision, discover, offers_of
from pipeline.measure.plan import Plan, make_plan
from pipeline.model import Culprit, Regression, RegressionKind, RegressionState, Shift
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.reconcile import certain_ends
from pipeline.text.errors import UserError
from tests.measure.samples import MACHINE, config_file, known
from tests.regressions.samples import shift
from tests.repositories import commit, git

RELEASES = '[[line]]\nname = "minors"\ntarget = "postgres"\nsince = "17"\nuntil = "17"\n'
BRANCH = (
    '[[line]]\nname = "minors"\ntarget = "postgres"\nsource = "git"\nrepository = "/x"\n'
    "newest = 1\n"
)
WORKLOADS = """
[[workload]]
name = "other"
steps = ["scan"]
rows = 7777

[[workload]]
name = "cached"
steps = ["all"]
clients = [1, 4]
"""

COMMITS = tuple(
    commit_revision("postgres", at, f"{at:02x}{0:038x} 17000000{at:02}") for at in range(9)
)


def planned(text: str, measured: tuple[int, ...] = ()) -> tuple[ConfigFile, Discovered, Plan]:
    """Return a configuration with what is known of its line, and the plan of a night.

    ``measured`` are the commits that the nights before took.
    """
    file = config_file(text + WORKLOADS)
    found = known()
    (offer,) = offers_of(file)
    if offer.supply.commits:
        supplied = (each.model_copy(update={"supply": offer.supply}) for each in COMMITS)
        found = {offer: tuple(supplied)}
    everything = config_file(text.replace("newest = 1\n", "") + WORKLOADS)
    whole = make_plan(everything, found, [MACHINE], False)
    history: dict[tuple[str, str], set[str]] = {}
    for cell in whole.cells:
        if cell.revision.order[0] in measured:
            history.setdefault(("postgres", cell.revision.label), set()).add(cell.key)
    return file, found, make_plan(file, found, [MACHINE], False, measured=history)


def reported(plan: Plan, *shifts: Shift) -> Regression:
    """Return a confirmed regression of the plan's cell with 4 clients."""
    (line,) = plan.lines
    cell = next(
        cell
        for cell in line.cells
        if (cell.workload.name, cell.workload.scale.clients) == ("cached", 4)
    )
    seen = {
        "workload_hash": cell.workload.hash,
        "config": cell.config.family,
        "build_options": cell.build_options,
    }
    (regression,) = group_shifts(
        [each.model_copy(update={"series": each.series.model_copy(update=seen)}) for each in shifts]
    )
    return regression.model_copy(update={"state": RegressionState.CONFIRMED})


def searched(text: str, *shifts: Shift, measured: tuple[int, ...] = ()) -> Search:
    file, found, plan = planned(text, measured)
    return search_for(reported(plan, *shifts), plan, file, found, MACHINE, False, Path())


def labels(search: Search) -> list[str]:
    return [cell.revision.label for cell in search.cells]


def test_the_ends_are_outside_of_the_interval() -> None:
    _, _, plan = planned(RELEASES)
    assert certain_ends(reported(plan, shift(2)), plan) == ("17.9", "17.10")
    assert certain_ends(reported(plan, shift(2, interval=(1, 3))), plan) == ("17.0", "17.11")
    elsewhere = reported(plan, shift(2)).model_copy(update={"line": "gone"})
    with pytest.raises(
        UserError, match="the line gone is no longer in the plan; run `nightshift detect`"
    ):
        certain_ends(elsewhere, plan)


def test_the_clearest_figures_are_searched_in_the_cell_where_they_are() -> None:
    search = searched(
        RELEASES,
        shift(2, 0.4, step="scan_range=100", metric="cpu_us/o"),
        shift(2, -0.1, step="point-query_range=100"),
    )
    assert search.figures == (
        Figure("scan_range=100", "cpu_us/o"),
        Figure("point-query_range=100", "qps"),
    )
    assert labels(search) == ["17.9", "17.10"]
    for cell in search.cells:
        assert (cell.workload.name, cell.workload.scale.clients) == ("cached", 4)
        steps = {step.name for step in cell.workload.steps}
        assert steps == {figure.step for figure in search.figures}


def test_of_a_branch_all_commits_between_are_searched() -> None:
    search = searched(BRANCH, shift(2, step="scan_range=100"), measured=(0, 3, 8))
    assert labels(search) == [commit.label for commit in COMMITS[3:9]], "3 and 8 were measured"
    assert {cell.build_options for cell in search.cells} == {"rel_o2nofp"}


def test_a_control_of_a_commit_is_an_end_as_that_commit() -> None:
    first, third, last = (COMMITS[place].label for place in (0, 3, 8))
    chosen = f'revisions = ["{first}", "{third}", "{third}#2", "{last}"]\n'
    search = searched(BRANCH.replace("newest = 1\n", chosen), shift(3, step="scan_range=100"))
    assert labels(search) == [commit.label for commit in COMMITS[3:9]]


def test_of_releases_those_that_were_skipped_are_searched_too() -> None:
    text = RELEASES + "newest = 1\n"
    search = searched(text, shift(3, step="scan_range=100"), measured=(17,))
    assert labels(search) == ["17.10", "17.11"]
    file, found, plan = planned(RELEASES)
    (line,) = plan.lines
    gap = line.model_copy(
        update={
            "revisions": (line.revisions[0], line.revisions[-1]),
            "kept": frozenset({line.revisions[0].label}),
        }
    )
    skipping = plan.model_copy(update={"lines": (gap,)})
    search = search_for(
        reported(skipping, shift(1, step="scan_range=100")),
        skipping,
        file,
        found,
        MACHINE,
        False,
        Path(),
    )
    assert labels(search) == ["17.0", "17.9", "17.10", "17.11"]


@pytest.fixture
def trunk(tmp_path: Path) -> Path:
    """Six commits; 17.9 was made on a branch that left after the second, 17.10 is the fifth."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path / "trunk"
    folder.mkdir()
    git(folder, "init", "-q")
    for number in range(6):
        (folder / "file").write_text(f"{number}")
        commit(folder, f"commit {number}")
        if number == 1:
            git(folder, "switch", "-qc", "stable")
            (folder / "file").write_text("stable")
            commit(folder, "release")
            git(folder, "tag", "REL_17_9")
            git(folder, "switch", "-q", "main")
        elif number == 4:
            git(folder, "tag", "REL_17_10")
            git(folder, "tag", "REL_17_11")
    return folder


def test_releases_are_searched_on_the_branch_that_their_line_names(
    trunk: Path, tmp_path: Path
) -> None:
    branch = BRANCH.replace("minors", "trunk").replace("/x", str(trunk))
    file = config_file(RELEASES + 'bisect = "trunk"\n' + branch + WORKLOADS)
    releases, commits = offers_of(file)
    cache = tmp_path / "cache"
    found = {releases: known()[releases], **discover([commits], cache, None)}
    plan = make_plan(file, found, [MACHINE], False)

    def search(*shifts: Shift) -> Search:
        minors = plan.model_copy(update={"lines": plan.lines[:1]})
        return search_for(reported(minors, *shifts), plan, file, found, MACHINE, False, cache)

    hashes = git(trunk, "log", "--format=%H", "--reverse").splitlines()
    got = search(shift(2, step="scan_range=100"))
    assert labels(got) == [each[:12] for each in hashes[1:5]]
    assert {cell.build_options for cell in got.cells} == {"rel_o2nofp"}
    with pytest.raises(UserError, match=r"^the line trunk has no commit between the two releases"):
        search(shift(3, step="scan_range=100"))
    with pytest.raises(
        UserError,
        match=r"trunk has no tag for postgres 17\.0; name a commit",
    ):
        search(shift(1, step="scan_range=100"))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (RELEASES + 'bisect = "trunk"\n', "'trunk' is no line of commits of postgres"),
        (RELEASES + 'bisect = "minors"\n', "'minors' is no line of commits of postgres"),
        (
            BRANCH + 'bisect = "minors"\n',
            "this line consists of commits itself; leave this setting out",
        ),
    ],
)
def test_only_lines_of_commits_are_searched_instead(lines: str, message: str) -> None:
    with pytest.raises(UserError, match=rf"^nightshift\.toml:\d+: line\.bisect: {message}"):
        offers_of(config_file(lines + WORKLOADS))


def test_only_confirmed_regressions_of_levels_are_located() -> None:
    _, _, plan = planned(RELEASES)
    regression = reported(plan, shift(2))
    assert to_locate(regression)
    named = Culprit(revision="b", parent="a", probability=0.999, confirmed=True)
    cases: list[tuple[dict[str, Any], bool]] = [
        ({"state": RegressionState.SUSPECTED}, False),
        ({"worse": False}, False),
        ({"kind": RegressionKind.SPREAD}, False),
        ({"culprit": named}, False),
        ({"culprit": named.model_copy(update={"confirmed": False})}, True),
    ]
    for update, wanted in cases:
        assert to_locate(regression.model_copy(update=update)) is wanted


def found(culprit: str, effect: float, verdict: str, *, confirmed: bool = True) -> LocatedChange:
    row = {"step": "scan", "metric": "qps", "effect": effect, "interval": (effect, effect)}
    return LocatedChange.model_validate(
        {
            "culprit": culprit,
            "parent": f"before {culprit}",
            "between": ("skipped",),
            "probability": 0.995,
            "confirmed": confirmed,
            "rows": [{**row, "verdict": verdict}],
        }
    )


def bisected(*changes: LocatedChange) -> Bisected:
    certain_ends: tuple[RevisionDifference, ...] = ()
    return Bisected(good="a", bad="z", found=changes, ends=certain_ends, builds=4, runs=30)


def test_the_answer_is_the_largest_change_for_the_worse() -> None:
    better, small, large = (
        found("better", 0.4, "better"),
        found("small", -0.1, "worse"),
        found("large", -0.2, "worse"),
    )
    assert answer(bisected(better, small, large)) == large
    assert answer(bisected(better)) is None
    assert answer(bisected()) is None
    range_only = found("somewhere", -0.3, "worse", confirmed=False)
    assert answer(bisected(small, range_only)) == small, "what was confirmed is named"


def test_a_culprit_says_itself_in_a_line() -> None:
    culprit = culprit_of(found("c0ffee", -0.2, "worse"), "Sort later (A. Person)")
    assert str(culprit) == (
        "c0ffee: Sort later (A. Person), or skipped (not measured); its parent is before c0ffee"
    )
    culprit = culprit_of(found("c0ffee", -0.2, "worse", confirmed=False), "")
    assert str(culprit) == "after before c0ffee and up to c0ffee (99 % probability)"
