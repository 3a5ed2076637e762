"""The interface of a workload family: which steps it has, how to run them, how to read results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from pipeline.model import Connection, Frozen, OptionValue, Scale, Step, StepOutput, Workload
from pipeline.text.units import plural
from pipeline.workloads.base.options import Option


class Load(Frozen):
    """Part of a run: create and fill the tables."""


class Warm(Frozen):
    """Part of a run: execute the statements of a step without measuring, to fill caches."""

    step: Step


class Measure(Frozen):
    """Part of a run: execute a step and measure it."""

    step: Step


class Count(Frozen):
    """Part of a run: execute a fixed number of a step's operations, and count instructions."""

    step: Step
    events: int


class Maintain(Frozen):
    """Part of a run: vacuum or checkpoint after the writes, then wait ``rest`` seconds."""

    rest: float


Command = Load | Warm | Measure | Count
"""The actions that run a command of the load generator. Maintenance is not among them: the target
does it."""

Action = Load | Warm | Measure | Maintain
"""One action of a run. Only :class:`Measure` yields metrics; in the mode count it is replaced by
two :class:`Count` of different lengths. The durations of the other actions are recorded."""


class PlainSql(Frozen):
    """A step as SQL text, for one table that is as wide as that of the workload.

    ``load`` creates and fills the table; ``extras`` are statements that the step may not need, such
    as the creation of an index. ``event`` has the statements of one event, with ``$1`` as the key
    of a row. ``events`` is how many events the shorter of two counted runs executes.
    """

    table: str
    load: tuple[str, ...]
    extras: tuple[str, ...]
    event: tuple[str, ...]
    events: int


class Timing(NamedTuple):
    """How long a command is measured, and the time limit of the whole command.

    Both are maxima in seconds; the measurement ends when the command does. ``usual`` is the
    expected duration of a command that usually ends earlier.
    """

    measured: float
    limit: float
    usual: float | None = None

    @property
    def expected(self) -> float:
        """The expected duration of the command, in seconds."""
        return self.limit if self.usual is None else self.usual


class Family(Protocol):
    """A family of workloads that one load generator runs.

    ``targets`` are the names of the targets that the family runs on, ``options`` the settings that
    only this family has.
    """

    name: str
    targets: tuple[str, ...]
    options: tuple[Option, ...]

    def workload(
        self, name: str, steps: Sequence[str], scale: Scale, options: Mapping[str, OptionValue]
    ) -> Workload:
        """Return the workload with the named steps or groups of steps.

        Raises :class:`UnknownStepError` for an unknown name,
        :class:`pipeline.workloads.base.options.OptionError` for an unknown setting or an invalid
        value, and ValueError for a measured time that the load generator does not support.
        """
        ...

    def actions(self, workload: Workload) -> tuple[Action, ...]:
        """Return all actions of a run in order: load, warm-ups, steps, maintenance."""
        ...

    def size(self, workload: Workload) -> str:
        """Return a text with the number of clients and the size of the database."""
        scale = workload.scale
        return (
            f"{plural(scale.clients, 'client')}, "
            f"{plural(scale.tables, 'table')} of {scale.rows:,} rows"
        )

    def connections(self, workload: Workload) -> int:
        """Return how many connections are active at once in the busiest step."""
        return workload.scale.clients

    def tables(self, workload: Workload) -> tuple[str, ...]:
        """Return the names of the tables that maintenance processes."""
        return ()

    def command(
        self, action: Command, workload: Workload, connection: Connection, seed: int
    ) -> tuple[str, ...]:
        """Return the command that executes a part of a run."""
        ...

    def explain(self, workload: Workload, connection: Connection, seed: int) -> tuple[str, ...]:
        """Return the command that prints the query plan of each statement.

        The command does not execute the statements. :mod:`pipeline.workloads.base.plans` parses its
        output. By default the command is empty: the family's statements have no plans.
        """
        return ()

    def repeatable(self, step: Step) -> bool:
        """Return whether a step can be repeated immediately, because it changes no data.

        By default no step can.
        """
        return False

    def counted_events(self, step: Step, workload: Workload) -> int:
        """Return how many events the shorter of a step's two counted runs executes.

        An event is the load generator's unit of work, such as a transaction, and consists of one or
        more operations. The default 0 means that the step cannot be counted.
        """
        return 0

    def plain_sql(self, step: Step, workload: Workload, dialect: str, rows: int) -> PlainSql | None:
        """Return a step as SQL text for a table of ``rows`` rows, without the load generator.

        ``dialect`` is pgsql or sqlite. By default the result is None: scripts cannot execute the
        steps of the family.
        """
        return None

    def counted_operations(self, step: Step, workload: Workload, text: str) -> float:
        """Return how many operations a counted run executed, according to its output."""
        return self.parse(step, workload, text).operations

    def timing(self, action: Command, workload: Workload) -> Timing:
        """Return the measured time and the time limit of a command."""
        ...

    def started(self, line: str, action: Command, workload: Workload) -> bool:
        """Return whether a line of the load generator's output says that measuring has begun."""
        ...

    def parse(self, step: Step, workload: Workload, text: str) -> StepOutput:
        """Parse what the load generator printed about a step.

        Raises ValueError, with an error message, for incomplete output, and its subclass
        UnknownStepError for a step that the family does not have.
        """
        ...

    def tools(self) -> dict[str, str]:
        """Return the versions of the needed tools. Raises UserError if one is missing."""
        ...


class UnknownStepError(ValueError):
    """A workload family has no step with this name; the message suggests a known one."""
