"""Plan: from the configuration and the revisions there are, to the cells to be measured."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property

from pipeline.config import Config, ConfigFile, LineSection, WorkloadSection
from pipeline.errors import UserError, meant
from pipeline.execute.build import OFFICIAL
from pipeline.execute.discover import Discovered
from pipeline.model import (
    Cell,
    Frozen,
    Machine,
    Revision,
    Scale,
    ServerConfig,
    Workload,
    digest,
)
from pipeline.targets import find_target
from pipeline.workloads import find_family
from pipeline.workloads.base import Family, UnknownStepError

_LABEL = re.compile(r"[^#]+(#([2-9]|[1-9]\d+))?")
"""A version, or a copy of one; the first of them is the version itself."""


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
    """Return the configuration with the [quick] settings put in place of the usual ones."""
    quick = config.quick
    lines = tuple(
        line.model_copy(update={} if line.revisions else {"newest": quick.newest})
        for line in config.line
    )
    workloads = tuple(
        workload.model_copy(
            update={
                "name": f"{workload.name}-quick",
                "steps": quick.steps,
                "rows": quick.rows,
                "measure": quick.measure,
                "warmup": quick.warmup,
            }
        )
        for workload in config.workload
    )
    night = config.night.model_copy(update={"repetitions": quick.repetitions})
    return config.model_copy(update={"line": lines, "workload": workloads, "night": night})


def targets_of(file: ConfigFile) -> list[str]:
    """Return the targets of all lines. Raises UserError for an unknown one, with its line."""
    names = []
    for index, line in enumerate(file.config.line):
        try:
            find_target(line.target)
        except KeyError as error:
            raise file.problem(("line", index, "target"), error.args[0]) from error
        names.append(line.target)
    return list(dict.fromkeys(names))


def check_workloads(file: ConfigFile) -> None:
    """Refuse unknown families, steps and build options, in the file and its [quick] table."""
    for index, section in enumerate(file.config.workload):
        if section.build != OFFICIAL:
            raise file.problem(
                ("workload", index, "build"),
                f"there are no build options {section.build!r}; known are {OFFICIAL}",
            )
        _workload(file, ("workload", index), section, clients=section.clients[0])
    for section in quicken(file.config).workload:
        _workload(file, ("quick",), section, clients=section.clients[0])


def make_plan(file: ConfigFile, found: Discovered, machine: Machine, quick: bool) -> Plan:
    """Return everything a night measures, in the order of the first repetition.

    Raises UserError, with file and line, for a revision or configuration that is not there.
    """
    check_workloads(file)
    config = quicken(file.config) if quick else file.config
    lines = []
    for at, line in enumerate(config.line):
        revisions = _revisions(file, at, line, found.get(line.target, ()))
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
                        build_options=section.build,
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
    17.x.
    """
    since, until = _numbers(section.since), _numbers(section.until)
    chosen = [
        revision
        for revision in sorted(revisions, key=lambda revision: revision.order)
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
    by_version = {revision.version: revision for revision in known}
    chosen_labels = []
    for at, label in enumerate(section.revisions):
        version, _, copy = label.partition("#")
        if version not in by_version or not _LABEL.fullmatch(label):
            raise file.problem(
                ("line", index, "revisions", at),
                f"{section.target} has no release {label!r}; {meant(version, by_version)}",
            )
        number = int(copy) if copy else 1
        chosen_labels.append(by_version[version].model_copy(update={"copy_number": number}))
    if len({revision.label for revision in chosen_labels}) < len(chosen_labels):
        raise file.problem(
            ("line", index, "revisions"),
            "a revision stands twice; write a copy that is measured again as 17.11#2",
        )
    return tuple(sorted(chosen_labels, key=lambda revision: (revision.order, revision.copy_number)))


def _server_config(
    file: ConfigFile, index: int, section: WorkloadSection, revision: Revision, machine: Machine
) -> ServerConfig:
    try:
        return find_target(revision.target).config(section.config, revision, machine)
    except UserError as error:
        raise file.problem(("workload", index, "config"), str(error)) from error


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
        at = next(at for at, step in enumerate(section.steps) if not _known(family, step, scale))
        raise file.problem((*table, "steps", at), str(error)) from error
    except ValueError as error:
        raise file.problem((*table, "measure"), str(error)) from error


def _known(family: Family, step: str, scale: Scale) -> bool:
    try:
        family.workload("", (step,), scale)
    except UnknownStepError:
        return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
