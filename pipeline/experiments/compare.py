"""Compare two revisions, builds, configurations or source trees by measuring both in turn."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from pipeline.config import Config, WorkloadSection
from pipeline.experiments.experiment import Figure
from pipeline.experiments.interleaved import BlocksResult, FigureVerdict, Question, copy_of
from pipeline.experiments.record import Experiment
from pipeline.model import Cell, Frozen, FunctionCostChange, Mode, Scale, Workload
from pipeline.model.counts import COUNTED_METRICS, INSTRUCTIONS
from pipeline.model.metrics import METRICS
from pipeline.text.errors import UserError, did_you_mean
from pipeline.workloads import find_family
from pipeline.workloads.base import UnknownStepError
from pipeline.workloads.base.options import OptionError

USUAL = WorkloadSection(
    name="compare",
    configs={"mysql": "small_nogtid", "mariadb": "small", "sqlite": "wal", "rocksdb": "byrx"},
    steps=("point-query", "scan", "update-index"),
)
"""The default workload, used if none is configured: the steps of a quick night."""

USUAL_ROCKSDB = USUAL.model_copy(update={"family": "db_bench", "steps": ("all",)})
"""The default workload of RocksDB, which has its own load generator."""


class TwoSideComparison(Frozen):
    """A comparison of two sides, ``base`` and ``head``: what was asked, and the result.

    ``functions`` lists, for each counted step, the functions that cause the change of instructions.
    """

    base: str
    head: str
    workload: str
    machine_class: str
    question: Question
    answer: BlocksResult
    mode: Mode = Mode.TIME
    functions: dict[str, tuple[FunctionCostChange, ...]] = Field(default_factory=dict)

    @property
    def rows(self) -> list[FigureVerdict]:
        """Return the compared metrics, worst first; all are undecided if the machine changed."""
        rows = list(self.answer.rows)
        if self.answer.moved:
            why = f"the machine changed: {self.answer.moved[0]}"
            rows = [row.model_copy(update={"verdict": "undecided", "note": why}) for row in rows]
        order = ("failed", "worse", "undecided", "same", "not worse", "better")
        return sorted(rows, key=lambda row: (order.index(row.verdict), -row.loss))

    @property
    def regressed(self) -> bool:
        """Whether the comparison shows a regression, so that a gate fails."""
        return any(row.verdict in ("worse", "failed") for row in self.rows)


def compared(experiment: Experiment, answer: BlocksResult) -> TwoSideComparison:
    """Return the result of a comparison, with the names of its two sides for tables."""
    return TwoSideComparison(
        base=side_name(experiment.base),
        head=side_name(experiment.head),
        workload=experiment.base.workload.name,
        machine_class=experiment.base.machine_class,
        question=experiment.question,
        answer=answer,
        mode=experiment.pair.mode,
    )


def side_name(cell: Cell) -> str:
    """Return the name of one side of a comparison: ``postgres 17.11 official x10a_c2r24``."""
    return f"{cell.revision.target} {cell.revision.label} {cell.build_options} {cell.config.name}"


def distinct_head(base: Cell, head: Cell) -> Cell:
    """Return head or, if it equals base, a copy of it, so that a build is compared with itself."""
    if head.key != base.key:
        return head
    return copy_of(head, 3 if base.revision.copy_number == 2 else 2)


def choose_workload(
    config: Config, name: str, targets: Sequence[str], mode: Mode | None = None
) -> WorkloadSection:
    """Return the workload with this name, or the first that all the targets can run.

    With a ``mode``, workloads of that mode are preferred, and the result is measured in that mode.
    Without a workload in the configuration, the default one is returned. Raises UserError for an
    unknown name, and for a workload that cannot run on a target.
    """
    sections = {section.name: section for section in config.workload}
    if name and name not in sections:
        known = ", ".join(sections) or "none"
        raise UserError(f"there is no workload {name!r}; the configuration has {known}")
    usual = USUAL_ROCKSDB if set(targets) == {"rocksdb"} else USUAL
    listed = sorted(sections.values(), key=lambda section: mode not in (None, section.mode))
    wanted = [sections[name]] if name else [*listed, usual]
    for section in wanted:
        if set(targets) <= set(find_family(section.family).targets):
            return section if mode is None else in_mode(section, mode)
    raise UserError(
        f"the workload {wanted[0].name} does not run on {' and '.join(dict.fromkeys(targets))}; "
        "choose another with --workload"
    )


def in_mode(section: WorkloadSection, mode: Mode) -> WorkloadSection:
    """Return a workload in this mode; counted workloads have one client and no profile."""
    if section.mode is mode:
        return section
    if mode is Mode.TIME:
        return section.model_copy(update={"mode": mode, "cache_simulation": False})
    return section.model_copy(
        update={"mode": mode, "clients": (1,), "profile": False, "pin": "", "memory": None}
    )


def figures_in(mode: Mode, metrics: Sequence[str], watched: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics to compare: the requested ones, or those watched in this mode.

    Raises UserError for an unknown metric, and for one that counted runs do not have.
    """
    for name in metrics:
        if name not in METRICS:
            raise UserError(f"there is no metric {name!r}; {did_you_mean(name, METRICS)}")
        if mode is Mode.COUNT and name not in COUNTED_METRICS:
            raise UserError(
                f"counted runs do not measure {name}; they have {', '.join(COUNTED_METRICS)}"
            )
    return tuple(metrics or ((INSTRUCTIONS,) if mode is Mode.COUNT else watched))


def workload_of(section: WorkloadSection, steps: Sequence[str], pin: bool = True) -> Workload:
    """Return a workload with only these steps, and with its first number of clients.

    ``pin`` says whether the machine pins processors. Raises UserError for an unknown step.
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
    return workload.model_copy(update=section.measured_how(pin))


def figures_of_steps(workload: Workload, metrics: Sequence[str]) -> tuple[Figure, ...]:
    """Return every requested metric of every step of a workload."""
    return tuple(Figure(step.name, metric) for step in workload.steps for metric in metrics)
