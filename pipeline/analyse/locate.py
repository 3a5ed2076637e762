"""Locate: what is bisected to find the culprit of a regression, and what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pipeline.analyse.bench import narrowed
from pipeline.analyse.bisect import Bisected, Found
from pipeline.analyse.confirm import planned_cell
from pipeline.analyse.experiment import Figure
from pipeline.analyse.identity import ends
from pipeline.analyse.regressions import clearest
from pipeline.analyse.stretch import ladder_of, revisions_between
from pipeline.config import ConfigFile
from pipeline.errors import UserError
from pipeline.execute.discover import Discovered
from pipeline.execute.plan import Plan, make_cell, section_of
from pipeline.execute.tags import commit_of
from pipeline.model import Cell, Culprit, Machine, Regression, RegressionKind, RegressionState


class Search(NamedTuple):
    """What is bisected: the cells of a stretch in order, the good one first, and the figures."""

    cells: tuple[Cell, ...]
    figures: tuple[Figure, ...]


def to_locate(regression: Regression) -> bool:
    """Say whether the culprit of a regression is to be searched: a confirmed one of a level."""
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
) -> Search:
    """Return what is bisected for a regression: its clearest figures, between its ends.

    Of a branch these are all commits between, measured before or not, and so it is of releases
    where the line takes only the newest. Releases whose line names one of commits to bisect on are
    those commits. Raises UserError for what the plan or the configuration no longer has, for
    figures that have no ratio, and for releases between which the branch has no commits.
    """
    good, bad = measured_good, _ = ends(regression, plan)
    ladder = ladder_of(file, regression.target, regression.line)
    branch = "" if ladder.at is None else file.config.line[ladder.at].bisect
    if branch:
        ladder = ladder_of(file, regression.target, branch)
        good, bad = (commit_of(release, ladder.offer, cache) for release in (good, bad))
        if good == bad:
            raise UserError(
                f"the line {branch} has no commit between the releases; name one of the branch "
                "that they were made on"
            )
    (line,) = (line for line in plan.lines if line.name == regression.line)
    if line.kept or ladder.offer.supply.commits:
        # A control is of the commit that it is a copy of.
        good, bad = (label.partition("#")[0] for label in (good, bad))
        revisions = revisions_between(file, ladder, known[ladder.offer], good, bad)
    else:
        revisions = line.revisions[line.position(good) : line.position(bad) + 1]
    shifts = clearest(regression, file.config.confirm.figures)
    planned = planned_cell(plan, regression, shifts[0], measured_good).workload
    workload = narrowed(planned, list(dict.fromkeys(shift.series.step for shift in shifts)))
    section = section_of(file, planned, quick)
    return Search(
        cells=tuple(
            make_cell(file, section, workload, revision, ladder.options, machine)
            for revision in revisions
        ),
        figures=tuple(Figure(shift.series.step, shift.series.metric) for shift in shifts),
    )


def answer(found: Bisected) -> Found | None:
    """Return the change that is the culprit's: the largest one for the worse."""
    worse = [each for each in found.found if any(row.verdict == "worse" for row in each.rows)]
    return found.model_copy(update={"found": tuple(worse)}).worst


def culprit_of(found: Found, subject: str) -> Culprit:
    """Return a change as a regression keeps it; ``subject`` is what its revision says it does."""
    return Culprit(
        revision=found.culprit,
        parent=found.parent,
        between=found.between,
        probability=found.probability,
        confirmed=found.confirmed,
        subject=subject,
    )
