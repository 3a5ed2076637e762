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


LONGER = 3
"""Length of the longer counted run of a step, as a multiple of the shorter run's length. The
difference between the two runs is what the operations cost."""


class Maintain(Frozen):
    """Part of a run: vacuum or checkpoint after the writes, then wait ``rest`` seconds."""

    rest: float


Command = Load | Warm | Measure | Count
"""The actions that run a command of the load generator; the target does maintenance."""

Action = Load | Warm | Measure | Maintain
"""One action of a run. Only :class:`Measure` is measured, or in the mode count counted as two
:class:`Count` of different lengths; the other actions are only timed."""


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
    """How long a command is measured, and how long it may take at most.

    Both are maxima in seconds; sampling stops when the command ends. ``usual`` is an estimate for a
    command that usually ends earlier.
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

    ``targets`` are the names of the targets that it runs on, ``options`` its own settings.
    """

    name: str
    targets: tuple[str, ...]
    options: tuple[Option, ...]

    def workload(
        self, name: str, steps: Sequence[str], scale: Scale, options: Mapping[str, OptionValue]
    ) -> Workload:
        """Return the workload with the named steps or groups of steps.

        Raises :class:`UnknownStepError` for an unknown name,
        :class:`pipeline.workloads.base.options.OptionError` for an unknown setting or a wrong
        value, and ValueError for a measured time that the load generator does not support.
        """
        ...

    def actions(self, workload: Workload) -> tuple[Action, ...]:
        """Return all parts of a run in order: load, warm-up, steps, maintenance."""
        ...

    def size(self, workload: Workload) -> str:
        """Return the clients and the size of the database, in words."""
        scale = workload.scale
        return (
            f"{plural(scale.clients, 'client')}, "
            f"{plural(scale.tables, 'table')} of {scale.rows:,} rows"
        )

    def connections(self, workload: Workload) -> int:
        """Return how many connections work at once in the busiest step: one for each client."""
        return workload.scale.clients

    def tables(self, workload: Workload) -> tuple[str, ...]:
        """Return the names of the tables that maintenance works on."""
        return ()

    def command(
        self, action: Command, workload: Workload, connection: Connection, seed: int
    ) -> tuple[str, ...]:
        """Return the command that executes a part of a run."""
        ...

    def explain(self, workload: Workload, connection: Connection, seed: int) -> tuple[str, ...]:
        """Return the command that prints the query plan of each statement.

        The command executes no statement. :mod:`pipeline.workloads.base.plans` parses its output.
        By default empty, for a family whose statements have no plans.
        """
        return ()

    def repeatable(self, step: Step) -> bool:
        """Return whether a step can be repeated at once, because it changes no data.

        By default no step can.
        """
        return False

    def counted_events(self, step: Step, workload: Workload) -> int:
        """Return how many events the shorter of two counted runs of a step executes.

        An event is the load generator's unit of work, such as a transaction, of one or more
        operations. By default 0: the step cannot be counted.
        """
        return 0

    def plain_sql(self, step: Step, workload: Workload, dialect: str, rows: int) -> PlainSql | None:
        """Return a step as SQL text for a table of ``rows`` rows, without the load generator.

        ``dialect`` is pgsql or sqlite. By default the result is None: scripts cannot execute the
        steps of the family.
        """
        return None

    def counted_operations(self, step: Step, workload: Workload, text: str) -> float:
        """Return how many operations a counted run did, from its output."""
        return self.parse(step, workload, text).operations

    def timing(self, action: Command, workload: Workload) -> Timing:
        """Return how long a part of a run may take."""
        ...

    def started(self, line: str, action: Command, workload: Workload) -> bool:
        """Return whether measuring has begun, by a line of the load generator's output."""
        ...

    def parse(self, step: Step, workload: Workload, text: str) -> StepOutput:
        """Parse what the load generator printed about a step.

        Raises ValueError, with a sentence, for incomplete output, and its subclass UnknownStepError
        for a step that the family does not have.
        """
        ...

    def tools(self) -> dict[str, str]:
        """Return the versions of the needed tools. Raises UserError if one is missing."""
        ...


class UnknownStepError(ValueError):
    """A workload family has no step with this name; the text suggests one."""
