"""Prepare the bisection of a regression, and convert the result to the regression's culprit."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pipeline.config import ConfigFile
from pipeline.experiments.bisect import Bisected, LocatedChange
from pipeline.experiments.confirm import planned_cell
from pipeline.experiments.experiment import Figure, Figures
from pipeline.experiments.revision_range import ladder_of, revisions_between
from pipeline.experiments.runner import only_steps
from pipeline.measure.discover import Discovered
from pipeline.measure.plan import Plan, make_cell, section_of
from pipeline.measure.release_tags import commit_of
from pipeline.model import (
    Cell,
    Culprit,
    Machine,
    Mode,
    Regression,
    RegressionKind,
    RegressionState,
)
from pipeline.regressions.grouping import clearest, explaining_counts
from pipeline.regressions.reconcile import certain_ends
from pipeline.text.errors import UserError


class Search(NamedTuple):
    """What a bisection needs: the cells of consecutive revisions, and the metrics to compare."""

    cells: tuple[Cell, ...]
    figures: tuple[Figure, ...]


def to_locate(regression: Regression) -> bool:
    """Whether to bisect a regression: only if it is confirmed and its level changed."""
    return (
        regression.worse
        and regression.kind is RegressionKind.LEVEL
        and regression.state is RegressionState.CONFIRMED
        and (regression.culprit is None or not regression.culprit.confirmed)
    )


def search_for(
    regression: Regression,
    plan: Plan,
    file: ConfigFile,
    known: Discovered,
    machine: Machine,
    quick: bool,
    cache: Path,
    mode: Mode | None = None,
) -> Search:
    """Return the bisection for a regression: which revisions, and which metrics.

    On a branch the range includes all commits, measured or not; on a line of releases, also those
    that a line of only the newest releases skips. If the line names a branch to bisect on, the
    range consists of that branch's commits. With a ``mode``, only changes of that mode count.
    Raises UserError for anything missing from the plan or the configuration, for figures without a
    ratio, and if the branch has no commits between the releases.
    """
    good, bad = measured_good, _ = certain_ends(regression, plan)
    ladder = ladder_of(file, regression.target, regression.line)
    branch = "" if ladder.at is None else file.config.line[ladder.at].bisect
    if branch:
        ladder = ladder_of(file, regression.target, branch)
        good, bad = (commit_of(release, ladder.offer, cache) for release in (good, bad))
        if good == bad:
            raise UserError(
                f"the line {branch} has no commit between the two releases; set `bisect` of the "
                f"[[line]] {regression.line} to a line of the branch from which they were released"
            )
    (line,) = (line for line in plan.lines if line.name == regression.line)
    if line.kept or ladder.offer.supply.commits:
        # A control has the commit of the revision that it copies.
        good, bad = (label.partition("#")[0] for label in (good, bad))
        revisions = revisions_between(file, ladder, known[ladder.offer], good, bad)
    else:
        revisions = line.revisions[line.positions[good] : line.positions[bad] + 1]
    shifts = clearest(regression, file.config.confirm.figures, mode)
    planned = planned_cell(plan, regression, shifts[0], measured_good).workload
    workload = only_steps(planned, list(dict.fromkeys(shift.series.step for shift in shifts)))
    section = section_of(file, planned, quick)
    return Search(
        cells=tuple(
            make_cell(file, section, workload, revision, ladder.options, machine)
            for revision in revisions
        ),
        figures=tuple(Figure(shift.series.step, shift.series.metric) for shift in shifts),
    )


def known_ends(regression: Regression, search: Search) -> tuple[Figures, Figures] | None:
    """Return the counts that nights measured at the two ends of a search; None without them.

    Counts are exact, so the ends need no further runs.
    """
    ends = tuple(cell.revision.label for cell in (search.cells[0], search.cells[-1]))
    if search.cells[0].workload.mode is not Mode.COUNT:
        return None
    shifts = {
        Figure(shift.series.step, shift.series.metric): shift
        for shift in explaining_counts(regression)
        if (shift.last_good, shift.first_bad) == ends
    }
    if not shifts.keys() >= set(search.figures):
        return None
    good = {figure: shifts[figure].before for figure in search.figures}
    bad = {figure: shifts[figure].after for figure in search.figures}
    return good, bad


def answer(found: Bisected) -> LocatedChange | None:
    """Return the change that a bisection found for the regression: the largest loss."""
    worse = [each for each in found.found if any(row.verdict == "worse" for row in each.rows)]
    return found.model_copy(update={"found": tuple(worse)}).worst


def culprit_of(found: LocatedChange, subject: str) -> Culprit:
    """Return the culprit of a regression from a located change and the commit's subject line."""
    return Culprit(
        revision=found.culprit,
        parent=found.parent,
        between=found.between,
        probability=found.probability,
        confirmed=found.confirmed,
        subject=subject,
    )
