"""The revisions of a line from a good one to a bad one, and the workload to measure them with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.config import ConfigFile, LineSection
from pipeline.experiments.compare import in_mode
from pipeline.experiments.runner import only_steps
from pipeline.measure.build_options import build_options
from pipeline.measure.discover import Offer, find_revision, offer_of, revisions_of_line
from pipeline.measure.plan import workload_at
from pipeline.model import Mode, Revision, Workload
from pipeline.targets import find_target
from pipeline.text.errors import UserError, did_you_mean
from pipeline.workloads import find_family
from pipeline.workloads.base import UnknownStepError


class RevisionSource(NamedTuple):
    """Where the revisions of a range come from, and how they are compiled.

    ``at`` is the index of the line in the configuration; None for the releases of a major version.
    """

    name: str
    offer: Offer
    options: str
    at: int | None


def ladder_of(file: ConfigFile, target: str, line: str) -> RevisionSource:
    """Return the configured line with this name, or the releases of a major version.

    Raises UserError if there is neither.
    """
    names = [section.name for section in file.config.line]
    if line in names:
        index = names.index(line)
        section = file.config.line[index]
        if target and section.target != target:
            raise UserError(
                f"the line {line} is a line of {section.target}, not of {target}; correct "
                "--target or --line"
            )
        offer = offer_of(file, index, section)
        return RevisionSource(line, offer, build_options(section, offer.supply), index)
    if not target:
        raise UserError(
            f"there is no line {line!r}; {did_you_mean(line, names)}; for a major version, add "
            "--target"
        )
    try:
        supply = find_target(target).supplies[0]
    except KeyError as error:
        raise UserError(error.args[0]) from error
    options = build_options(LineSection(name="line", target=target), supply)
    return RevisionSource(line, Offer(target, supply), options, None)


def revisions_between(
    file: ConfigFile, ladder: RevisionSource, known: Sequence[Revision], good: str, bad: str
) -> tuple[Revision, ...]:
    """Return the revisions of a line from a good one to a bad one, in order, both included.

    On a branch these are all commits in between; otherwise they are the line's releases. Raises
    UserError for an unknown revision, and for one that is not on the line.
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
                f"the line {ladder.name} does not include {ladder.offer.target} {end.label}; it "
                "includes " + ", ".join(each.label for each in taken)
            )
    between = [each for each in taken if ends[0].order <= each.order <= ends[1].order]
    return tuple(sorted(between, key=lambda each: each.order))


def workload_for(
    file: ConfigFile,
    ladder: RevisionSource,
    name: str,
    steps: Sequence[str],
    quick: bool,
    mode: Mode | None = None,
) -> tuple[int, Workload]:
    """Return the workload to measure with, and its number in ``nightshift.toml``.

    The default is the first workload that runs on the line and has the ``steps``. The result has
    only these steps, and the loads and writes that they need. With a ``mode``, it is measured in
    that mode. Raises UserError if no workload fits.
    """
    sections = file.config.workload
    if name and name not in [section.name for section in sections]:
        raise UserError(
            f"there is no workload {name!r}; {did_you_mean(name, [each.name for each in sections])}"
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
        if mode is not None:
            clients = 1 if mode is Mode.COUNT else workload.scale.clients
            scale = workload.scale.model_copy(update={"clients": clients})
            how = in_mode(section, mode).measured_how(file.config.machine.pin)
            workload = workload.model_copy(update={**how, "scale": scale})
        try:
            return index, only_steps(workload, steps) if steps else workload
        except UnknownStepError as error:
            unknown = error
    if unknown is not None:
        raise UserError(str(unknown)) from unknown
    what = f"the workload {name}" if name else f"no workload of {file.path}"
    does_not = "does not run" if name else "runs"
    raise UserError(
        f"{what} {does_not} on {ladder.name} ({ladder.offer.target}); add a workload that does"
    )


def _found(ladder: RevisionSource, known: Sequence[Revision], version: str) -> Revision:
    revision = find_revision(version, known)
    if revision is None:
        raise UserError(
            f"{ladder.offer.supply.name} has no {ladder.offer.target} {version}; `nightshift "
            f"discover {ladder.offer.target}` lists the revisions"
        )
    return revision


def _releases(
    file: ConfigFile, ladder: RevisionSource, known: Sequence[Revision]
) -> Sequence[Revision]:
    """Return the releases of a line or a major version, without copies that serve as controls."""
    if ladder.at is None:
        return [each for each in known if each.major == ladder.name]
    section = file.config.line[ladder.at]
    taken = revisions_of_line(file, ladder.at, section, known)
    return [each for each in taken if each.copy_number == 1]
