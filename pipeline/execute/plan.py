"""Plan: from the configuration and the revisions there are, to the cells to be measured."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path

from pipeline.config import Config, ConfigFile, LineSection, WorkloadSection
from pipeline.errors import UserError, first_line, meant
from pipeline.execute.build import OFFICIAL, SHIPPED_OPTIONS, Patch
from pipeline.execute.discover import Discovered, Offer
from pipeline.model import (
    Cell,
    Frozen,
    Machine,
    Revision,
    Scale,
    ServerConfig,
    Supply,
    Workload,
    digest,
)
from pipeline.targets import find_target
from pipeline.workloads import find_family
from pipeline.workloads.base import Family, UnknownStepError

_LABEL = re.compile(r"[^#]+(#([2-9]|[1-9]\d+))?")
"""A version, or a copy of one; the first of them is the version itself."""
_SHORTEST_HASH = 7
"""Digits of a commit's hash that name it."""
_ANY_SCALE = Scale(tables=1, rows=1, clients=1, measure=1.0, warmup=0.0)
"""For asking a family of its steps, which are the same at every scale."""
_MANY = 1000
"""Revisions beyond which a list of them helps nobody."""


class Line(Frozen):
    """A sequence of revisions of a target; a revision's position is its place in it.

    ``cells`` are what is measured of them, by workload and then by revision.
    """

    name: str
    target: str
    revisions: tuple[Revision, ...]
    cells: tuple[Cell, ...]

    def workloads(self) -> list[Workload]:
        """Return the workloads, each once for every number of clients."""
        return list({cell.workload.hash: cell.workload for cell in self.cells}.values())

    def keys(self, workload: Workload | None = None) -> list[str]:
        """Return the identities of the cells, of one workload or of all."""
        return [cell.key for cell in self.cells if workload in (None, cell.workload)]

    def position(self, label: str) -> int:
        """Return the place of the revision with this label."""
        return [revision.label for revision in self.revisions].index(label)


class Plan(Frozen):
    """What a night measures: the cells of the lines, each so many times."""

    lines: tuple[Line, ...]
    repetitions: int

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells, line by line; one that lines share is there once."""
        return tuple({cell.key: cell for line in self.lines for cell in line.cells}.values())

    def keys(self) -> list[str]:
        """Return the identities of the cells."""
        return [cell.key for cell in self.cells]

    @cached_property
    def hash(self) -> str:
        """Identity: what was concluded from one plan says nothing of another."""
        return digest([[line.name, line.keys()] for line in self.lines])

    def remaining(self, measured: Collection[tuple[str, int]]) -> list[tuple[Cell, int]]:
        """Return the runs not in ``measured`` (pairs of cell key and repetition), in order.

        Repetitions are interleaved: the first of all cells, then the second of all, so that a
        drift of the machine falls on all alike. Every other pass goes backwards, so that a
        drift within a pass cancels too.
        """
        runs = []
        for repetition in range(1, self.repetitions + 1):
            cells = self.cells if repetition % 2 else tuple(reversed(self.cells))
            runs += [(cell, repetition) for cell in cells]
        return [(cell, n) for cell, n in runs if (cell.key, n) not in measured]


def quicken(config: Config) -> Config:
    """Return the configuration with the [quick] settings put in place of the usual ones.

    A workload has those of the steps that its family knows; where it knows none, its own.
    """
    quick = config.quick
    lines = tuple(
        line.model_copy(update={} if line.revisions else {"newest": quick.newest})
        for line in config.line
    )
    workloads = tuple(
        workload.model_copy(
            update={
                "name": f"{workload.name}-quick",
                "steps": _known_steps(find_family(workload.family), quick.steps) or workload.steps,
                "rows": quick.rows,
                "measure": quick.measure,
                "warmup": quick.warmup,
            }
        )
        for workload in config.workload
    )
    night = config.night.model_copy(update={"repetitions": quick.repetitions})
    return config.model_copy(update={"line": lines, "workload": workloads, "night": night})


def offers_of(file: ConfigFile) -> list[Offer]:
    """Return what the lines ask for, each once.

    Raises UserError for an unknown target or source, with its line.
    """
    offers = (offer_of(file, index, line) for index, line in enumerate(file.config.line))
    return list(dict.fromkeys(offers))


def offer_of(file: ConfigFile, index: int, line: LineSection) -> Offer:
    """Return what one line asks for."""
    try:
        target = find_target(line.target)
    except KeyError as error:
        raise file.problem(("line", index, "target"), error.args[0]) from error
    by_name = {supply.name: supply for supply in target.supplies}
    name = line.source or next(iter(by_name))
    if name not in by_name:
        raise file.problem(
            ("line", index, "source"),
            f"{line.target} is not had from {name!r}; {meant(name, by_name)}",
        )
    try:
        return Offer(line.target, supply_at(by_name[name], line.repository, line.branch))
    except ValueError as error:
        at = "repository" if line.repository else "branch"
        raise file.problem(("line", index, at), str(error)) from error


def supply_at(supply: Supply, repository: str, branch: str) -> Supply:
    """Return a supply with another repository or branch. Raises ValueError if it has none."""
    if not (repository or branch):
        return supply
    if supply.kind not in ("git", "tags") or (branch and supply.kind != "git"):
        raise ValueError(f"the source {supply.name} has no {'branch' if branch else 'repository'}")
    address, _, usual = supply.coordinates.partition("#")
    # Another repository's branch is its own default, not the one that is usual upstream.
    branch = branch or ("" if repository else usual)
    if repository and (folder := Path(repository).expanduser()).exists():
        repository = str(folder.absolute())
    where = repository or address
    return supply.model_copy(update={"coordinates": f"{where}#{branch}" if branch else where})


def build_options(line: LineSection, supply: Supply) -> str:
    """Return the name of the build options of a line."""
    return line.build or (OFFICIAL if supply.prebuilt else next(iter(SHIPPED_OPTIONS)))


def check_workloads(file: ConfigFile) -> None:
    """Refuse unknown families, steps and build options, in the file and its [quick] table.

    And a workload on a line whose target it cannot run on.
    """
    known = [OFFICIAL, *SHIPPED_OPTIONS, *(options.name for options in file.config.build)]
    for index, line in enumerate(file.config.line):
        supply = offer_of(file, index, line).supply
        options = build_options(line, supply)
        if options not in known:
            raise file.problem(
                ("line", index, "build"),
                f"there are no build options {options!r}; {meant(options, known)}",
            )
        if supply.prebuilt != (options == OFFICIAL):
            raise file.problem(
                ("line", index, "build"),
                f"what {supply.name} has is built already; its build options are {OFFICIAL}"
                if supply.prebuilt
                else f"what {supply.name} has is source code; name the options to compile it with",
            )
    for index, section in enumerate(file.config.workload):
        _workload(file, ("workload", index), section, clients=section.clients[0])
        family = find_family(section.family)
        for line in file.config.line:
            if line.target not in family.targets and line.name in (section.lines or (line.name,)):
                raise file.problem(
                    ("workload", index, "family"),
                    f"{family.name} does not run on {line.target}, the target of line {line.name}; "
                    "tell the workload its lines, or choose another family",
                )
    for section in quicken(file.config).workload:
        _workload(file, ("quick",), section, clients=section.clients[0])
    _check_quick_steps(file)


def _check_quick_steps(file: ConfigFile) -> None:
    """Refuse a step of the [quick] table that no workload's family knows."""
    quick = file.config.quick
    families = [find_family(section.family) for section in file.config.workload]
    known = {step for family in families for step in _known_steps(family, quick.steps)}
    for at, step in enumerate(quick.steps):
        if families and step not in known and "steps" in quick.model_fields_set:
            try:
                families[0].workload("", (step,), _ANY_SCALE)
            except UnknownStepError as error:
                raise file.problem(("quick", "steps", at), str(error)) from error


def read_patches(file: ConfigFile) -> tuple[Patch, ...]:
    """Return the patches of the configuration. Raises UserError for one that cannot be read."""
    patches = []
    for index, section in enumerate(file.config.patch):
        try:
            text = (file.path.parent / section.file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise file.problem(
                ("patch", index, "file"), f"cannot be read: {first_line(error)}"
            ) from error
        patches.append(
            Patch(
                target=section.target,
                name=section.file.name,
                text=text,
                since=_bound(section.since, ()),
                until=_bound(section.until, ()),
            )
        )
    return tuple(patches)


def make_plan(file: ConfigFile, found: Discovered, machine: Machine, quick: bool) -> Plan:
    """Return everything a night measures, in the order of the first repetition.

    Raises UserError, with file and line, for a revision or configuration that is not there.
    """
    check_workloads(file)
    config = quicken(file.config) if quick else file.config
    lines = []
    for at, line in enumerate(config.line):
        offer = offer_of(file, at, line)
        revisions = _revisions(file, at, line, found.get(offer, ()))
        # By key: a number of clients that stands twice is still one cell.
        cells: dict[str, Cell] = {}
        for index, section in enumerate(config.workload):
            if section.lines and line.name not in section.lines:
                continue
            for clients in section.clients:
                workload = _workload(file, ("workload", index), section, clients)
                for revision in revisions:
                    cell = Cell(
                        revision=revision,
                        build_options=build_options(line, offer.supply),
                        config=_server_config(file, index, section, revision, machine),
                        machine_class=machine.machine_class,
                        workload=workload,
                    )
                    cells.setdefault(cell.key, cell)
        lines.append(
            Line(
                name=line.name,
                target=line.target,
                revisions=revisions,
                cells=tuple(cells.values()),
            )
        )
    return Plan(lines=tuple(lines), repetitions=config.night.repetitions)


def select(revisions: Sequence[Revision], section: LineSection) -> tuple[Revision, ...]:
    """Return the revisions that a line's since, until, take and newest choose, in order.

    A version takes in what begins with it: since 14 begins at 14.0, until 17 ends at the last
    17.x. Commits are named by their hash.
    """
    ordered = sorted(revisions, key=lambda revision: revision.order)
    since, until = _bound(section.since, ordered), _bound(section.until, ordered)
    chosen = [
        revision
        for revision in ordered
        if revision.order >= since and (not until or revision.order[: len(until)] <= until)
    ]
    if section.take == "newest-of-each-major":
        chosen = list({revision.major: revision for revision in chosen}.values())
    return tuple(chosen[-section.newest :] if section.newest else chosen)


def _revisions(
    file: ConfigFile, index: int, section: LineSection, known: Sequence[Revision]
) -> tuple[Revision, ...]:
    if not known:
        raise UserError(f"no release of {section.target} is known; run `nightshift discover`")
    if not section.revisions:
        chosen = select(known, section)
        if not chosen:
            raise file.problem(
                ("line", index),
                f"no release of {section.target} lies between since and until; `nightshift "
                "discover` lists what there is",
            )
        return chosen
    chosen_labels = []
    for at, label in enumerate(section.revisions):
        version, _, copy = label.partition("#")
        revision = find_revision(version, known)
        if revision is None or not _LABEL.fullmatch(label):
            names = [each.version for each in known]
            raise file.problem(
                ("line", index, "revisions", at),
                f"{section.target} has no release {label!r}; {meant(version, names)}"
                if len(names) < _MANY
                else f"{section.target} has no revision {label!r}; `nightshift discover` lists "
                "what there is",
            )
        number = int(copy) if copy else 1
        chosen_labels.append(revision.model_copy(update={"copy_number": number}))
    if len({revision.label for revision in chosen_labels}) < len(chosen_labels):
        raise file.problem(
            ("line", index, "revisions"),
            "a revision stands twice; write a copy that is measured again as 17.11#2",
        )
    return tuple(sorted(chosen_labels, key=lambda revision: (revision.order, revision.copy_number)))


def _server_config(
    file: ConfigFile, index: int, section: WorkloadSection, revision: Revision, machine: Machine
) -> ServerConfig:
    name = section.configs.get(revision.target, section.config)
    at = "configs" if revision.target in section.configs else "config"
    try:
        return find_target(revision.target).config(name, revision, machine)
    except UserError as error:
        raise file.problem(("workload", index, at), str(error)) from error


def _workload(
    file: ConfigFile, table: tuple[str | int, ...], section: WorkloadSection, clients: int
) -> Workload:
    """Return a section's workload. Mistakes are said of ``table``, where its settings stand."""
    try:
        family = find_family(section.family)
    except KeyError as error:
        raise file.problem((*table, "family"), error.args[0]) from error
    scale = Scale(
        tables=section.tables,
        rows=section.rows,
        clients=clients,
        measure=section.measure,
        warmup=section.warmup,
    )
    try:
        return family.workload(section.name, section.steps, scale)
    except UnknownStepError as error:
        known = _known_steps(family, section.steps)
        at = next(at for at, step in enumerate(section.steps) if step not in known)
        raise file.problem((*table, "steps", at), str(error)) from error
    except ValueError as error:
        raise file.problem((*table, "measure"), str(error)) from error


def _known_steps(family: Family, steps: Sequence[str]) -> tuple[str, ...]:
    """Return those of the names that are steps or groups of a family."""

    def known(step: str) -> bool:
        try:
            family.workload("", (step,), _ANY_SCALE)
        except UnknownStepError:
            return False
        return True

    return tuple(filter(known, steps))


def _bound(version: str, revisions: Sequence[Revision]) -> tuple[int, ...]:
    """Return the sort key of the beginning of a version, or of a commit; () for no bound."""
    if not version:
        return ()
    if any(revision.supply and revision.supply.commits for revision in revisions):
        found = find_revision(version, revisions)
        # Behind all there are: nothing lies between, and the caller says so.
        return found.order if found else (sys.maxsize,)
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def find_revision(version: str, revisions: Sequence[Revision]) -> Revision | None:
    """Return the release of this version, or the commit whose hash begins so."""
    for revision in revisions:
        if revision.version == version:
            return revision
        commit = revision.supply is not None and revision.supply.commits
        if commit and len(version) >= _SHORTEST_HASH and revision.locator.startswith(version):
            return revision
    return None
