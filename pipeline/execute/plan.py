"""Plan: from the configuration and the revisions there are, to the cells to be measured."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import product
from types import MappingProxyType

from pipeline.config import Config, ConfigFile, WorkloadSection
from pipeline.errors import UserError
from pipeline.execute.discover import Discovered
from pipeline.execute.lines import offer_of, revisions_of_line
from pipeline.execute.options import build_options, check_options
from pipeline.model import (
    Cell,
    Frozen,
    Machine,
    OptionValue,
    Revision,
    Scale,
    ServerConfig,
    Workload,
    digest,
)
from pipeline.targets import find_target
from pipeline.workloads import find_family
from pipeline.workloads.base import Family, UnknownStepError
from pipeline.workloads.base.options import OptionError

_ANY_SCALE = Scale(tables=1, rows=1, clients=1, measure=1.0, warmup=0.0)
"""For asking a family of its steps, which are the same at every scale."""


class Line(Frozen):
    """A sequence of revisions of a target; a revision's position is its place in it.

    ``cells`` are what is measured of them, by workload and then by revision. ``kept`` are the
    labels of revisions that are on the line because they were measured when they were among its
    newest; they are measured no more.
    """

    name: str
    target: str
    revisions: tuple[Revision, ...]
    cells: tuple[Cell, ...]
    kept: frozenset[str] = frozenset()

    def due(self) -> tuple[Cell, ...]:
        """Return the cells that a night measures."""
        return tuple(cell for cell in self.cells if cell.revision.label not in self.kept)

    def classes(self) -> list[str]:
        """Return the machine classes that measure it, each once."""
        return list(dict.fromkeys(cell.machine_class for cell in self.cells))

    def workloads(self) -> list[Workload]:
        """Return the workloads, each once for every number of clients."""
        return list({cell.workload.hash: cell.workload for cell in self.cells}.values())

    def keys(self, workload: Workload | None = None, machine_class: str | None = None) -> list[str]:
        """Return the identities of the cells, of one workload and machine class or of all."""
        return [
            cell.key
            for cell in self.cells
            if workload in (None, cell.workload) and machine_class in (None, cell.machine_class)
        ]

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

    @cached_property
    def due(self) -> tuple[Cell, ...]:
        """The cells that are measured, in the same order: those of revisions that are not kept."""
        return tuple({cell.key: cell for line in self.lines for cell in line.due()}.values())

    def keys(self) -> list[str]:
        """Return the identities of the cells."""
        return [cell.key for cell in self.cells]

    @cached_property
    def hash(self) -> str:
        """Identity: what was concluded from one plan says nothing of another."""
        return digest([[line.name, line.keys()] for line in self.lines])

    def of_class(self, machine_class: str) -> Plan:
        """Return the plan with the cells of one machine class only."""
        lines = tuple(
            line.model_copy(
                update={
                    "cells": tuple(c for c in line.cells if c.machine_class == machine_class),
                }
            )
            for line in self.lines
        )
        return self.model_copy(update={"lines": lines})

    def alone(self, line: str, label: str) -> Plan:
        """Return the plan of one revision of one line only."""
        (whole,) = (each for each in self.lines if each.name == line)
        one = whole.model_copy(
            update={
                "revisions": tuple(each for each in whole.revisions if each.label == label),
                "cells": tuple(cell for cell in whole.cells if cell.revision.label == label),
                "kept": whole.kept & {label},
            }
        )
        return self.model_copy(update={"lines": (one,)})

    def remaining(self, measured: Collection[tuple[str, int]]) -> list[tuple[Cell, int]]:
        """Return the runs not in ``measured`` (pairs of cell key and repetition), in order.

        Repetitions are interleaved: the first of all cells, then the second of all, so that a
        drift of the machine falls on all alike. Every other pass goes backwards, so that a
        drift within a pass cancels too.
        """
        runs = []
        for repetition in range(1, self.repetitions + 1):
            cells = self.due if repetition % 2 else tuple(reversed(self.due))
            runs += [(cell, repetition) for cell in cells]
        return [(cell, n) for cell, n in runs if (cell.key, n) not in measured]


def quicken(config: Config) -> Config:
    """Return the configuration with the [quick] settings put in place of the usual ones.

    A workload has those of the steps that its family knows; where it knows none, its own. The
    options that go with its scale are left out.
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
                "options": _quick_options(workload),
            }
        )
        for workload in config.workload
    )
    night = config.night.model_copy(update={"repetitions": quick.repetitions})
    return config.model_copy(update={"line": lines, "workload": workloads, "night": night})


def profiled(config: Config) -> Config:
    """Return the configuration with a CPU profile wanted of every workload."""
    workloads = tuple(each.model_copy(update={"profile": True}) for each in config.workload)
    return config.model_copy(update={"workload": workloads})


def check_workloads(file: ConfigFile) -> None:
    """Refuse unknown families, steps and build options, in the file and its [quick] table.

    And a workload on a line whose target it cannot run on.
    """
    check_options(file)
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
    for index, control in enumerate(file.config.control):
        (section,) = (each for each in file.config.workload if each.name == control.workload)
        family = find_family(section.family)
        if control.target not in family.targets:
            raise file.problem(
                ("control", index, "workload"),
                f"{section.name} is of {family.name}, which does not run on {control.target}; "
                "choose another workload",
            )
    _check_quick_steps(file)


def _check_quick_steps(file: ConfigFile) -> None:
    """Refuse a step of the [quick] table that no workload's family knows."""
    quick = file.config.quick
    families = [find_family(section.family) for section in file.config.workload]
    known = {step for family in families for step in _known_steps(family, quick.steps)}
    for at, step in enumerate(quick.steps):
        if families and step not in known and "steps" in quick.model_fields_set:
            try:
                families[0].workload("", (step,), _ANY_SCALE, {})
            except UnknownStepError as error:
                raise file.problem(("quick", "steps", at), str(error)) from error


def make_plan(
    file: ConfigFile,
    found: Discovered,
    machines: Sequence[Machine],
    quick: bool,
    profile: bool = False,
    measured: Mapping[tuple[str, str], Collection[str]] = MappingProxyType({}),
    also: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> Plan:
    """Return everything a night measures, in the order of the first repetition.

    ``machines`` stand for the classes that measure: one machine of each. Which lines a class of the
    configuration measures stands there; another measures all.
    ``quick`` and ``profile`` change the configuration as :func:`quicken` and :func:`profiled`.
    ``measured`` are the keys of the cells that have runs, by target and revision: a revision that
    is no more among the newest of its line stays on it if it was measured. ``also`` are the labels
    of others that are measured, by line.
    Raises UserError, with file and line, for a revision or configuration that is not there.
    """
    check_workloads(file)
    config = quicken(file.config) if quick else file.config
    config = profiled(config) if profile else config
    lines_of = {each.name: frozenset(each.lines) for each in config.machine_class if each.lines}
    lines = []
    for at, line in enumerate(config.line):
        offer = offer_of(file, at, line)
        chosen = revisions_of_line(file, at, line, found.get(offer, ()))
        due = {revision.label for revision in chosen[-line.newest :]}
        due |= {revision.label for revision in chosen if revision.label in also.get(line.name, ())}
        candidates = [
            revision
            for revision in chosen
            if revision.label in due or (line.target, revision.label) in measured
        ]
        measuring = [
            each for each in machines if line.name in lines_of.get(each.machine_class, {line.name})
        ]
        # By key: a number of clients that stands twice is still one cell.
        cells: dict[str, Cell] = {}
        for index, section in enumerate(config.workload):
            if section.lines and line.name not in section.lines:
                continue
            for clients in section.clients:
                workload = _workload(file, ("workload", index), section, clients)
                options = build_options(line, offer.supply)
                for machine, revision in product(measuring, candidates):
                    cell = make_cell(file, index, workload, revision, options, machine)
                    label = revision.label
                    if label in due or cell.key in measured[line.target, label]:
                        cells.setdefault(cell.key, cell)
        there = due | {cell.revision.label for cell in cells.values()}
        lines.append(
            Line(
                name=line.name,
                target=line.target,
                revisions=tuple(each for each in candidates if each.label in there),
                cells=tuple(cells.values()),
                kept=frozenset(there - due),
            )
        )
    return Plan(lines=tuple(lines), repetitions=config.night.repetitions)


def make_cell(
    file: ConfigFile,
    index: int,
    workload: Workload,
    revision: Revision,
    options: str,
    machine: Machine,
) -> Cell:
    """Return the cell of a revision, with the DBMS configuration of the ``index``-th workload.

    Raises UserError, with file and line, for a configuration that is not there.
    """
    section = file.config.workload[index]
    return Cell(
        revision=revision,
        build_options=options,
        config=_server_config(file, index, section, revision, machine),
        machine_class=machine.machine_class,
        workload=workload,
    )


def workload_at(file: ConfigFile, index: int, quick: bool) -> Workload:
    """Return the ``index``-th workload of the configuration, with the first number of clients."""
    section = (quicken(file.config) if quick else file.config).workload[index]
    return _workload(file, ("workload", index), section, section.clients[0])


def section_of(file: ConfigFile, workload: Workload, quick: bool) -> int:
    """Return the place in the configuration of a workload that was planned from it.

    Raises UserError if it is not there any more.
    """
    config = quicken(file.config) if quick else file.config
    for index, section in enumerate(config.workload):
        for clients in section.clients:
            made = _workload(file, ("workload", index), section, clients)
            if made.hash == workload.hash:
                return index
    raise UserError(f"{file.path} has no workload {workload.name} any more that was measured so")


def _quick_options(workload: WorkloadSection) -> dict[str, OptionValue]:
    scaled = {option.name for option in find_family(workload.family).options if not option.quick}
    return {name: value for name, value in workload.options.items() if name not in scaled}


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
        workload = family.workload(section.name, section.steps, scale, section.options)
    except UnknownStepError as error:
        known = _known_steps(family, section.steps)
        at = next(at for at, step in enumerate(section.steps) if step not in known)
        raise file.problem((*table, "steps", at), str(error)) from error
    except OptionError as error:
        raise file.problem((*table, "options", error.option), str(error)) from error
    except ValueError as error:
        raise file.problem((*table, "measure"), str(error)) from error
    return workload.model_copy(update={"profile": section.profile})


def _known_steps(family: Family, steps: Sequence[str]) -> tuple[str, ...]:
    """Return those of the names that are steps or groups of a family."""

    def known(step: str) -> bool:
        try:
            family.workload("", (step,), _ANY_SCALE, {})
        except UnknownStepError:
            return False
        return True

    return tuple(filter(known, steps))
