"""Compare: any two revisions, builds, configurations or source trees, measured now."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.analyse.experiment import Figure
from pipeline.analyse.interleaved import Answer, Question, Row, copy_of
from pipeline.analyse.record import Experiment
from pipeline.config import Config, WorkloadSection
from pipeline.errors import UserError
from pipeline.model import Cell, Frozen, Scale, Workload
from pipeline.workloads import find_family
from pipeline.workloads.base import UnknownStepError
from pipeline.workloads.base.options import OptionError

USUAL = WorkloadSection(
    name="compare",
    configs={"mysql": "z12a_nogtid", "mariadb": "z12b", "sqlite": "wal", "rocksdb": "byrx"},
    steps=("point-query", "scan", "update-index"),
)
"""What is run where no configuration says what: the steps of a quick night."""

USUAL_ROCKSDB = USUAL.model_copy(update={"family": "db_bench", "steps": ("all",)})
"""The same for the target that has a load generator of its own."""


class Comparison(Frozen):
    """Two sides, what was asked of them, and the answer. ``base`` and ``head`` are their names."""

    base: str
    head: str
    workload: str
    machine_class: str
    question: Question
    answer: Answer

    @property
    def rows(self) -> list[Row]:
        """Return the rows, worst first. If the machine moved, nothing is decided."""
        rows = list(self.answer.rows)
        if self.answer.moved:
            why = f"the machine moved: {self.answer.moved[0]}"
            rows = [row.model_copy(update={"verdict": "undecided", "note": why}) for row in rows]
        order = ("failed", "worse", "undecided", "same", "not worse", "better")
        return sorted(rows, key=lambda row: (order.index(row.verdict), -row.loss))

    @property
    def regressed(self) -> bool:
        """Say whether a regression was shown: what a gate stops."""
        return any(row.verdict in ("worse", "failed") for row in self.rows)


def compared(experiment: Experiment, answer: Answer) -> Comparison:
    """Return an answer with the names of its sides, those of tables."""
    return Comparison(
        base=side_name(experiment.base),
        head=side_name(experiment.head),
        workload=experiment.base.workload.name,
        machine_class=experiment.base.machine_class,
        question=experiment.question,
        answer=answer,
    )


def side_name(cell: Cell) -> str:
    """Return what a side is called: ``postgres 17.11 official x10a_c2r24``."""
    return f"{cell.revision.target} {cell.revision.label} {cell.build_options} {cell.config.name}"


def told_apart(base: Cell, head: Cell) -> Cell:
    """Return head; as a copy, if it is what base is: the comparison is A/A then."""
    if head.key != base.key:
        return head
    return copy_of(head, 3 if base.revision.copy_number == 2 else 2)


def choose_workload(config: Config, name: str, targets: Sequence[str]) -> WorkloadSection:
    """Return the workload of this name, or the first that can run on all the targets.

    Without one in the configuration it is the usual one. Raises UserError for a name that is not
    there, and for a workload that cannot run on a target.
    """
    sections = {section.name: section for section in config.workload}
    if name and name not in sections:
        known = ", ".join(sections) or "none"
        raise UserError(f"there is no workload {name!r}; the configuration has {known}")
    usual = USUAL_ROCKSDB if set(targets) == {"rocksdb"} else USUAL
    wanted = [sections[name]] if name else [*sections.values(), usual]
    for section in wanted:
        if set(targets) <= set(find_family(section.family).targets):
            return section
    raise UserError(
        f"the workload {wanted[0].name} does not run on {' and '.join(dict.fromkeys(targets))}; "
        "name another with --workload"
    )


def workload_of(section: WorkloadSection, steps: Sequence[str]) -> Workload:
    """Return a workload with these steps, or with its own; with its first number of clients.

    Raises UserError for a step that it does not have.
    """
    family = find_family(section.family)
    scale = Scale(
        tables=section.tables,
        rows=section.rows,
        clients=section.clients[0],
        measure=section.measure,
        warmup=section.warmup,
    )
    try:
        workload = family.workload(section.name, steps or section.steps, scale, section.options)
    except (UnknownStepError, OptionError, ValueError) as error:
        raise UserError(f"workload {section.name}: {error}") from error
    return workload.model_copy(update={"profile": section.profile})


def figures_of_steps(workload: Workload, metrics: Sequence[str]) -> tuple[Figure, ...]:
    """Return the metrics of every step."""
    return tuple(Figure(step.name, metric) for step in workload.steps for metric in metrics)
