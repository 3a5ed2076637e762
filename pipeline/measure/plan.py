"""The plan stage: from the configuration and the known revisions to the cells of a night."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import product
from types import MappingProxyType

from pipeline.config import Config, ConfigFile, WorkloadSection
from pipeline.machine.pinning import pinned
from pipeline.measure.build_options import build_options, check_options
from pipeline.measure.discover import Discovered, offer_of, revisions_of_line
from pipeline.measure.server_configs import check_configs, server_config, with_memory
from pipeline.model import (
    Cell,
    Frozen,
    Machine,
    Mode,
    OptionValue,
    Revision,
    Scale,
    ServerConfig,
    Workload,
    digest,
)
from pipeline.text.errors import UserError
from pipeline.workloads import find_family
from pipeline.workloads.base import Family, UnknownStepError
from pipeline.workloads.base.options import OptionError

_ANY_SCALE = Scale(tables=1, rows=1, clients=1, measure=1.0, warmup=0.0)
"""A scale to look up the steps of a family with; they are the same at every scale."""


LONG = 40
"""Number of revisions up to which a terminal or a table shows a whole line. Wider tables fit on no
screen; the published reports have at most some thirty columns."""

NEWEST = 12
"""The number of newest revisions that are shown of a line with more than ``LONG`` revisions."""


TRIES = 3
"""How many times a cell is measured until every step has an undisturbed run: a machine that
disturbs it in three nights will do so in the fourth."""


class Line(Frozen):
    """A sequence of revisions of a target, with the cells to measure for each revision.

    ``cells`` are ordered by workload, then by revision. ``kept`` has the labels of older revisions
    that stay on the line because they have been measured already; nights no longer measure them.
    ``metrics`` has all metrics of an imported line, on which nights measure nothing; it is empty
    for a measured line.
    """

    name: str
    target: str
    revisions: tuple[Revision, ...]
    cells: tuple[Cell, ...]
    kept: frozenset[str] = frozenset()
    metrics: tuple[str, ...] = ()

    @property
    def imported(self) -> bool:
        """Whether the results on this line were imported."""
        return bool(self.metrics)

    def due(self) -> tuple[Cell, ...]:
        """Return the cells of this line that a night measures."""
        return tuple(cell for cell in self.cells if cell.revision.label not in self.kept)

    def classes(self) -> list[str]:
        """Return the machine classes that measure this line, each once."""
        return list(dict.fromkeys(cell.machine_class for cell in self.cells))

    def workloads(self) -> list[Workload]:
        """Return the workloads of this line, one for each number of clients."""
        return list({cell.workload.hash: cell.workload for cell in self.cells}.values())

    def keys(self, workload: Workload | None = None, machine_class: str | None = None) -> list[str]:
        """Return the keys of this line's cells, or of those of one workload or machine class."""
        return [
            cell.key
            for cell in self.cells
            if workload in (None, cell.workload) and machine_class in (None, cell.machine_class)
        ]

    def only(self, labels: Collection[str]) -> Line:
        """Return this line with only the revisions that have these labels."""
        if all(revision.label in labels for revision in self.revisions):
            return self
        return self.model_copy(
            update={
                "revisions": tuple(each for each in self.revisions if each.label in labels),
                "cells": tuple(cell for cell in self.cells if cell.revision.label in labels),
                "kept": self.kept.intersection(labels),
            }
        )

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """The position of each revision on this line, by its label."""
        return {revision.label: place for place, revision in enumerate(self.revisions)}


class Plan(Frozen):
    """All cells of all lines, and how often a night measures each."""

    lines: tuple[Line, ...]
    repetitions: int

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells of the plan, line by line; a cell on several lines appears once."""
        return tuple({cell.key: cell for line in self.lines for cell in line.cells}.values())

    @cached_property
    def due(self) -> tuple[Cell, ...]:
        """The cells that a night measures: all except those of revisions in ``Line.kept``."""
        return tuple({cell.key: cell for line in self.lines for cell in line.due()}.values())

    def keys(self) -> list[str]:
        """Return the keys of all cells of the plan."""
        return [cell.key for cell in self.cells]

    @cached_property
    def hash(self) -> str:
        """A digest of the plan, so that a result is not used with another plan."""
        return digest([[line.name, line.keys()] for line in self.lines])

    def imports(self, line: str) -> bool:
        """Return whether the results on the line with this name were imported."""
        return any(each.imported for each in self.lines if each.name == line)

    def of_class(self, machine_class: str) -> Plan:
        """Return the plan with the cells of only one machine class."""
        lines = tuple(
            line.model_copy(
                update={
                    "cells": tuple(c for c in line.cells if c.machine_class == machine_class),
                }
            )
            for line in self.lines
        )
        return self.model_copy(update={"lines": lines})

    def of_revision(self, line: str, label: str) -> Plan:
        """Return the plan with only one revision of one line."""
        (whole,) = (each for each in self.lines if each.name == line)
        return self.model_copy(update={"lines": (whole.only({label}),)})

    def runs_of(self, cell: Cell) -> int:
        """Return how many runs a cell needs: one if it is counted, because counts are exact."""
        return 1 if cell.workload.mode is Mode.COUNT else self.repetitions

    def most_runs_of(self, cell: Cell) -> int:
        """Return how many runs a cell may have, if they are disturbed again and again."""
        return self.runs_of(cell) * (1 if cell.workload.mode is Mode.COUNT else TRIES)

    def remaining(
        self, measured: Collection[tuple[str, int]], disturbed: Collection[str] = ()
    ) -> list[tuple[Cell, int]]:
        """Return the runs of the plan that are not in ``measured``, in order.

        ``disturbed`` are the keys of cells with a step that no run has undisturbed. They are due
        again, under further numbers, until they are clean or were tried ``TRIES`` times.

        Repetitions are interleaved: the first of all cells, then the second of all. A drift of the
        machine then affects all cells alike. Every other pass runs backwards, which cancels a drift
        within a pass.
        """
        runs = []
        for repetition in range(1, self.repetitions + 1):
            cells = self.due if repetition % 2 else tuple(reversed(self.due))
            runs += [(cell, repetition) for cell in cells if repetition <= self.runs_of(cell)]
        # Counted runs first: they are soon done, and exact whatever else the machine does.
        runs.sort(key=lambda run: run[0].workload.mode is not Mode.COUNT)
        left = [(cell, n) for cell, n in runs if (cell.key, n) not in measured]
        return left + self._again(measured, {cell.key for cell, _ in left}, disturbed)

    def _again(
        self,
        measured: Collection[tuple[str, int]],
        left: Collection[str],
        disturbed: Collection[str],
    ) -> list[tuple[Cell, int]]:
        """Return the runs of disturbed cells that have all of their usual runs."""
        last: dict[str, int] = {}
        for key, number in measured if disturbed else ():
            last[key] = max(number, last.get(key, 0))
        again = [
            (cell, last[cell.key] + number)
            for number in range(1, self.repetitions + 1)
            for cell in self.due
            if cell.key in disturbed and cell.key in last and cell.key not in left
        ]
        return [(cell, number) for cell, number in again if number <= self.most_runs_of(cell)]


def quicken(config: Config) -> Config:
    """Return the configuration with its ``[quick]`` settings, for a short night.

    A workload gets the quick steps that its family knows; if there are none, it keeps its own.
    Options that depend on the workload's scale are dropped.
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
    """Return the configuration with a CPU profile of every workload."""
    workloads = tuple(each.model_copy(update={"profile": True}) for each in config.workload)
    return config.model_copy(update={"workload": workloads})


def check_workloads(file: ConfigFile) -> None:
    """Raise UserError for workloads, steps and build options that do not exist.

    Also raise it for a workload on a line whose target the family does not run on.
    """
    check_options(file)
    check_configs(file)
    for index, section in enumerate(file.config.workload):
        _workload(file, ("workload", index), section, clients=section.clients[0])
        family = find_family(section.family)
        for line in file.config.line:
            if line.target not in family.targets and line.name in (section.lines or (line.name,)):
                raise file.problem(
                    ("workload", index, "family"),
                    f"{family.name} does not run on {line.target}, the target of line "
                    f"{line.name}; set lines in the workload, or choose another family",
                )
    for section in quicken(file.config).workload:
        _workload(file, ("quick",), section, clients=section.clients[0])
    for index, control in enumerate(file.config.control):
        (section,) = (each for each in file.config.workload if each.name == control.workload)
        family = find_family(section.family)
        if control.target not in family.targets:
            raise file.problem(
                ("control", index, "workload"),
                f"the workload {section.name} of family {family.name} does not run on "
                f"{control.target}; choose another workload",
            )
    _check_quick_steps(file)


def _check_quick_steps(file: ConfigFile) -> None:
    """Raise UserError for steps in the ``[quick]`` table that no workload has."""
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
    """Return the plan of a night, with its cells in the order of their first repetitions.

    ``machines`` has one machine of each class that measures. A class of the configuration measures
    the lines that its table names; any other class measures all lines. ``quick`` and ``profile``
    change the configuration as :func:`quicken` and :func:`profiled` do. ``measured`` has the keys
    of the cells with runs, by target and revision: a revision that was measured stays on its line
    when it is no longer among the newest. ``also`` has the labels of further revisions to measure,
    by line. Raises UserError, with file and line, for an unknown revision or configuration.
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
        # By key, so that a repeated number of clients gives one cell.
        cells: dict[str, Cell] = {}
        configs: dict[tuple[int, str, str], ServerConfig] = {}
        for index, section in enumerate(config.workload):
            if section.lines and line.name not in section.lines:
                continue
            _check_pin(file, index, section, measuring)
            for clients in section.clients:
                workload = _workload(file, ("workload", index), section, clients)
                options = build_options(line, offer.supply)
                for machine, revision in product(measuring, candidates):
                    label = revision.label
                    # Thousands of commits of one major have one configuration.
                    like = revision.major if offer.supply.commits else label
                    place = (index, machine.machine_class, like)
                    if place not in configs:
                        configs[place] = _server_config(file, index, section, revision, machine)
                    cell = Cell(
                        revision=revision,
                        build_options=options,
                        config=configs[place],
                        machine_class=machine.machine_class,
                        workload=workload,
                    )
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


def _check_pin(
    file: ConfigFile, index: int, section: WorkloadSection, machines: Sequence[Machine]
) -> None:
    """Raise UserError if a workload names processors that a machine does not have."""
    for machine in machines if section.pin else ():
        try:
            pinned(section.pin, range(machine.cores))
        except ValueError as error:
            raise file.problem(("workload", index, "pin"), str(error)) from error


def make_cell(
    file: ConfigFile,
    index: int,
    workload: Workload,
    revision: Revision,
    options: str,
    machine: Machine,
) -> Cell:
    """Return the cell of a revision for the ``index``-th workload of ``nightshift.toml``.

    Raises UserError, with file and line, for an unknown configuration.
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
    """Return the ``index``-th workload of ``nightshift.toml``, with its first client count."""
    section = (quicken(file.config) if quick else file.config).workload[index]
    return _workload(file, ("workload", index), section, section.clients[0])


def workloads_at(file: ConfigFile, index: int, quick: bool) -> list[Workload]:
    """Return the ``index``-th workload of the configuration, with each number of clients."""
    section = (quicken(file.config) if quick else file.config).workload[index]
    clients = dict.fromkeys(section.clients)
    return [_workload(file, ("workload", index), section, each) for each in clients]


def section_of(file: ConfigFile, workload: Workload, quick: bool) -> int:
    """Return which ``[[workload]]`` table, by number, a planned workload came from.

    Raises UserError if the configuration no longer has it.
    """
    config = quicken(file.config) if quick else file.config
    for index, section in enumerate(config.workload):
        for clients in section.clients:
            made = _workload(file, ("workload", index), section, clients)
            if made.hash == workload.hash:
                return index
    raise UserError(
        f"{file.path} no longer has the workload {workload.name} as it was measured; restore its "
        "former settings to repeat these runs"
    )


def _quick_options(workload: WorkloadSection) -> dict[str, OptionValue]:
    scaled = {option.name for option in find_family(workload.family).options if not option.quick}
    return {name: value for name, value in workload.options.items() if name not in scaled}


def _server_config(
    file: ConfigFile, index: int, section: WorkloadSection, revision: Revision, machine: Machine
) -> ServerConfig:
    name = section.configs.get(revision.target, section.config)
    at = "configs" if revision.target in section.configs else "config"
    try:
        return server_config(file, name, revision, with_memory(machine, section.memory))
    except UserError as error:
        raise file.problem(("workload", index, at), str(error)) from error


def _workload(
    file: ConfigFile, table: tuple[str | int, ...], section: WorkloadSection, clients: int
) -> Workload:
    """Return the workload that a table of ``nightshift.toml`` describes."""
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
    workload = workload.model_copy(update=section.measured_how(file.config.machine.pin))
    if workload.mode is Mode.COUNT:
        for step in workload.steps:
            if not family.counted_events(step, workload):
                raise file.problem(
                    (*table, "mode"),
                    f"{step.name} of {family.name} cannot be counted, because it has no fixed "
                    'number of operations; use mode = "time"',
                )
    return workload


def _known_steps(family: Family, steps: Sequence[str]) -> tuple[str, ...]:
    """Return those of the given names that are steps, or groups of steps, of the family."""

    def known(step: str) -> bool:
        try:
            family.workload("", (step,), _ANY_SCALE, {})
        except UnknownStepError:
            return False
        return True

    return tuple(filter(known, steps))
