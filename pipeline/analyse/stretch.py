"""A stretch of a line: the revisions from a good one to a bad one, and the workload for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.analyse.bench import narrowed
from pipeline.config import ConfigFile, LineSection
from pipeline.errors import UserError, meant
from pipeline.execute.discover import Offer
from pipeline.execute.lines import find_revision, offer_of, revisions_of_line
from pipeline.execute.options import build_options
from pipeline.execute.plan import workload_at
from pipeline.model import Revision, Workload
from pipeline.targets import find_target
from pipeline.workloads import find_family
from pipeline.workloads.base import UnknownStepError


class Ladder(NamedTuple):
    """Where the revisions of a stretch are had, and with which build options.

    ``at`` is the place of the line in the configuration; None for a major.
    """

    name: str
    offer: Offer
    options: str
    at: int | None


def ladder_of(file: ConfigFile, target: str, line: str) -> Ladder:
    """Return the line of the configuration with this name, or the major of a target.

    Raises UserError if there is neither.
    """
    names = [section.name for section in file.config.line]
    if line in names:
        index = names.index(line)
        section = file.config.line[index]
        if target and section.target != target:
            raise UserError(f"the line {line} is of {section.target}, not of {target}")
        offer = offer_of(file, index, section)
        return Ladder(line, offer, build_options(section, offer.supply), index)
    if not target:
        raise UserError(
            f"there is no line {line!r}; {meant(line, names)}; for a major, name its --target"
        )
    try:
        supply = find_target(target).supplies[0]
    except KeyError as error:
        raise UserError(error.args[0]) from error
    options = build_options(LineSection(name="line", target=target), supply)
    return Ladder(line, Offer(target, supply), options, None)


def revisions_between(
    file: ConfigFile, ladder: Ladder, known: Sequence[Revision], good: str, bad: str
) -> tuple[Revision, ...]:
    """Return the revisions of a line from a good one to a bad one, both included, in order.

    Of a branch these are all commits between them, of releases those that the line takes. Raises
    UserError for a revision that is not known, and for one that is not on the line.
    """
    if ladder.at is not None and (major := file.config.line[ladder.at].major):
        known = [each.model_copy(update={"major": major}) for each in known]
    ends = [_found(ladder, known, version) for version in (good, bad)]
    if ends[0].order >= ends[1].order:
        raise UserError(
            f"{ends[0].label} does not come before {ends[1].label} on {ladder.name}; "
            "name the older revision as --good"
        )
    taken = known if ladder.offer.supply.commits else _releases(file, ladder, known)
    for end in ends:
        if end not in taken:
            raise UserError(
                f"the line {ladder.name} does not take {ladder.offer.target} {end.label}; it has "
                + ", ".join(each.label for each in taken)
            )
    between = [each for each in taken if ends[0].order <= each.order <= ends[1].order]
    return tuple(sorted(between, key=lambda each: each.order))


def workload_for(
    file: ConfigFile, ladder: Ladder, name: str, steps: Sequence[str], quick: bool
) -> tuple[int, Workload]:
    """Return the workload to measure with, and its place in the configuration.

    It has only the given steps, and the loads and writes that they need; its own without any.
    By default it is the first that runs on the line and knows the steps. Raises UserError if
    there is none.
    """
    sections = file.config.workload
    if name and name not in [section.name for section in sections]:
        raise UserError(
            f"there is no workload {name!r}; {meant(name, [each.name for each in sections])}"
        )
    unknown: UnknownStepError | None = None
    for index, section in enumerate(sections):
        family = find_family(section.family)
        fits = ladder.offer.target in family.targets and (
            ladder.at is None or not section.lines or ladder.name in section.lines
        )
        if name not in ("", section.name) or not fits:
            continue
        workload = workload_at(file, index, quick)
        try:
            return index, narrowed(workload, steps) if steps else workload
        except UnknownStepError as error:
            unknown = error
    if unknown is not None:
        raise UserError(str(unknown)) from unknown
    what = f"the workload {name}" if name else f"no workload of {file.path}"
    does_not = "does not run" if name else "runs"
    raise UserError(f"{what} {does_not} on {ladder.name} ({ladder.offer.target}); add one")


def _found(ladder: Ladder, known: Sequence[Revision], version: str) -> Revision:
    revision = find_revision(version, known)
    if revision is None:
        raise UserError(
            f"{ladder.offer.supply.name} has no {ladder.offer.target} {version}; "
            f"`nightshift discover {ladder.offer.target}` lists what there is"
        )
    return revision


def _releases(file: ConfigFile, ladder: Ladder, known: Sequence[Revision]) -> Sequence[Revision]:
    """Return the releases of a line, without its controls."""
    if ladder.at is None:
        return [each for each in known if each.major == ladder.name]
    section = file.config.line[ladder.at]
    taken = revisions_of_line(file, ladder.at, section, known)
    return [each for each in taken if each.copy_number == 1]
