"""The tproc-c family: one step, by sysbench or by HammerDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pipeline.errors import meant
from pipeline.model import Connection, OptionValue, Scale, Step, StepOutput, Workload
from pipeline.workloads.base import (
    Action,
    Command,
    Load,
    Maintain,
    Measure,
    Timing,
    UnknownStepError,
)
from pipeline.workloads.base.options import Option
from pipeline.workloads.base.sysbench import sysbench_version
from pipeline.workloads.tproc_c import hammerdb, sysbench
from pipeline.workloads.tproc_c.settings import HAMMERDB, OPTIONS, SYSBENCH, read_options, settings

STEP = Step(name="tproc-c", group="tproc-c", unit="transactions")

TABLES = (
    "warehouse",
    "district",
    "customer",
    "history",
    "new_order",
    "orders",
    "order_line",
    "item",
    "stock",
)


class _Driver(Protocol):
    """What runs the transactions: each is a module."""

    def identity(self) -> str:
        """Return the identity of its scripts: other scripts measure something else."""
        ...

    def command(
        self, action: Command, workload: Workload, connection: Connection, seed: int
    ) -> tuple[str, ...]:
        """Return the command of a load or the step."""
        ...

    def explain(self, workload: Workload, connection: Connection, seed: int) -> tuple[str, ...]:
        """Return the command that prints the plans of its statements; nothing if there is none."""
        ...

    def timing(self, action: Command, workload: Workload) -> Timing:
        """Return how long that may take."""
        ...

    def started(self, line: str) -> bool:
        """Say whether measuring begins with this line of its output."""
        ...

    def parse(self, text: str, workload: Workload) -> StepOutput:
        """Read the output of the step. Raises ValueError, in a sentence."""
        ...


_DRIVERS: dict[str, _Driver] = {SYSBENCH: sysbench, HAMMERDB: hammerdb}


class TprocC:
    """HammerDB's derivative of TPC-C: no keying or think time, stored procedures.

    The warm-up of the scale is the ramp-up; its tables and rows mean nothing, because the size of
    the database follows from the options. The figures are NOPM, the new orders per minute that
    were committed in the measured time, and TPM, all transactions per minute.
    """

    name = "tproc-c"
    targets: tuple[str, ...] = ("postgres", "mysql", "mariadb")
    options: tuple[Option, ...] = OPTIONS

    def workload(
        self, name: str, steps: Sequence[str], scale: Scale, options: Mapping[str, OptionValue]
    ) -> Workload:
        """Return the workload of the one step.

        Raises UnknownStepError for any other step, OptionError for an option, and ValueError for
        a measured time that sysbench cannot do.
        """
        if scale.measure != int(scale.measure) or scale.measure < 1:
            raise ValueError(f"tproc-c measures whole seconds, not {scale.measure:g} s")
        for step in steps:
            if step not in (STEP.name, "all"):
                known = meant(step, [STEP.name, "all"])
                raise UnknownStepError(f"tproc-c has no step or group {step!r}; {known}")
        values = read_options(options)
        driver = _DRIVERS[str(values.get("driver", SYSBENCH))]
        return Workload(
            family=self.name,
            name=name,
            version=driver.identity(),
            scale=scale,
            steps=(STEP,),
            options=values,
        )

    def actions(self, workload: Workload) -> tuple[Action, ...]:
        """Return load, maintenance after it, and the step."""
        return (Load(), Maintain(rest=0.0), Measure(step=STEP))

    def tables(self, workload: Workload) -> tuple[str, ...]:
        """Return the names of the tables."""
        return TABLES

    def command(
        self, action: Command, workload: Workload, connection: Connection, seed: int
    ) -> tuple[str, ...]:
        """Return the command of the load or the step.

        Raises UserError for a HammerDB that is wanted but not installed.
        """
        return _driver(workload).command(action, workload, connection, seed)

    def explain(self, workload: Workload, connection: Connection, seed: int) -> tuple[str, ...]:
        """Return the command that prints the plans of the statements inside of the procedures."""
        return _driver(workload).explain(workload, connection, seed)

    def repeatable(self, step: Step) -> bool:
        """Say no: its transactions write."""
        del step
        return False

    def timing(self, action: Command, workload: Workload) -> Timing:
        """Return how long the command of an action may take."""
        return _driver(workload).timing(action, workload)

    def started(self, line: str, action: Command, workload: Workload) -> bool:
        """Say whether measuring begins with this line."""
        return _driver(workload).started(line)

    def parse(self, step: Step, workload: Workload, text: str) -> StepOutput:
        """Read the step's output. Raises ValueError when it is not whole or not consistent."""
        if step != STEP:
            raise UnknownStepError(f"tproc-c has no step {step.name!r}")
        return _driver(workload).parse(text, workload)

    def tools(self) -> dict[str, str]:
        """Return the versions of sysbench and, if there is one, of HammerDB.

        Raises UserError when sysbench is not installed.
        """
        return sysbench_version() | hammerdb.version()


def _driver(workload: Workload) -> _Driver:
    return _DRIVERS[settings(workload).driver]
