"""Run tproc-c with sysbench or HammerDB, and read the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pipeline.model import Connection, OptionValue, Scale, Step, StepOutput, Workload
from pipeline.text.errors import did_you_mean
from pipeline.text.units import plural
from pipeline.workloads.base import (
    Action,
    Command,
    Family,
    Load,
    Maintain,
    Measure,
    Timing,
    UnknownStepError,
)
from pipeline.workloads.base.options import Option, check_whole_seconds
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
    """A load generator that runs tproc-c: sysbench or HammerDB."""

    def identity(self) -> str:
        """Return a digest of the driver's scripts; runs with other scripts are not comparable."""
        ...

    def command(
        self, action: Command, workload: Workload, connection: Connection, seed: int
    ) -> tuple[str, ...]:
        """Return the command that loads the tables or runs the transactions."""
        ...

    def explain(self, workload: Workload, connection: Connection, seed: int) -> tuple[str, ...]:
        """Return the command that prints the query plans; empty if that is impossible."""
        ...

    def timing(self, action: Command, workload: Workload) -> Timing:
        """Return the measured time and the time limit of a command of the driver."""
        ...

    def started(self, line: str) -> bool:
        """Return whether a line of the driver's output says that measuring has begun."""
        ...

    def parse(self, text: str, workload: Workload) -> StepOutput:
        """Parse the output of the driver. Raises ValueError if it is incomplete."""
        ...


_DRIVERS: dict[str, _Driver] = {SYSBENCH: sysbench, HAMMERDB: hammerdb}


class TprocC(Family):
    """The workload family tproc-c: TPC-C without keying and think times.

    The warm-up time of the scale is TPC-C's ramp-up time. Tables and rows of the scale are ignored,
    because the options set the size of the database. The results are NOPM, the new orders per
    minute committed in the measured time, and TPM, all transactions per minute.
    """

    name = "tproc-c"
    targets: tuple[str, ...] = ("postgres", "mysql", "mariadb")
    options: tuple[Option, ...] = OPTIONS

    def workload(
        self, name: str, steps: Sequence[str], scale: Scale, options: Mapping[str, OptionValue]
    ) -> Workload:
        """Return the tproc-c workload, which has one step.

        Raises UnknownStepError for any other step, OptionError for an invalid option, and
        ValueError for a measured time that sysbench does not support.
        """
        check_whole_seconds("tproc-c", scale.measure)
        for step in steps:
            if step not in (STEP.name, "all"):
                known = did_you_mean(step, [STEP.name, "all"])
                raise UnknownStepError(f"there is no step {step!r}; {known}")
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

    def size(self, workload: Workload) -> str:
        """Return a text with the numbers of virtual users and warehouses."""
        users, warehouses = workload.scale.clients, settings(workload).warehouses
        return f"{plural(users, 'virtual user')}, {plural(warehouses, 'warehouse')}"

    def actions(self, workload: Workload) -> tuple[Action, ...]:
        """Return the parts of a tproc-c run: load, maintenance, step."""
        return (Load(), Maintain(rest=0.0), Measure(step=STEP))

    def tables(self, workload: Workload) -> tuple[str, ...]:
        """Return the names of the tables of tproc-c."""
        return TABLES

    def command(
        self, action: Command, workload: Workload, connection: Connection, seed: int
    ) -> tuple[str, ...]:
        """Return the command that loads the tables or runs the transactions.

        Raises UserError if HammerDB is requested and not installed.
        """
        return _driver(workload).command(action, workload, connection, seed)

    def explain(self, workload: Workload, connection: Connection, seed: int) -> tuple[str, ...]:
        """Return the command that prints the plans of the statements in the stored procedures."""
        return _driver(workload).explain(workload, connection, seed)

    def timing(self, action: Command, workload: Workload) -> Timing:
        """Return the measured time and the time limit of a command of tproc-c."""
        return _driver(workload).timing(action, workload)

    def started(self, line: str, action: Command, workload: Workload) -> bool:
        """Return whether a line of output says that measuring has begun."""
        return _driver(workload).started(line)

    def parse(self, step: Step, workload: Workload, text: str) -> StepOutput:
        """Parse the output of tproc-c. Raises ValueError if it is incomplete."""
        if step != STEP:
            raise UnknownStepError(f"there is no step {step.name!r}")
        return _driver(workload).parse(text, workload)

    def tools(self) -> dict[str, str]:
        """Return the versions of sysbench and, if installed, of HammerDB.

        Raises UserError if sysbench is not installed.
        """
        return sysbench_version() | hammerdb.version()


def _driver(workload: Workload) -> _Driver:
    return _DRIVERS[settings(workload).driver]
