"""The interface of a workload family: steps and their order, commands, parsed output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from pipeline.model import Connection, Frozen, OptionValue, Scale, Step, StepOutput, Workload
from pipeline.text.units import plural
from pipeline.workloads.base.options import Option


class Load(Frozen):
    """The action that creates and fills the tables."""


class Warm(Frozen):
    """The action that runs the statements of a step unmeasured, to fill caches."""

    step: Step


class Measure(Frozen):
    """The action that runs a step and measures it."""

    step: Step


class Count(Frozen):
    """The action that runs a fixed number of a step's events, to be counted."""

    step: Step
    events: int


LONGER = 3
"""The longer of the two runs of a counted step, in lengths of the shorter. Their difference is what
the operations cost."""


class Maintain(Frozen):
    """The action that does the postwrite maintenance, then waits ``rest`` seconds."""

    rest: float


Command = Load | Warm | Measure | Count
"""The actions that run a command of the load generator; the target does maintenance."""

Action = Load | Warm | Measure | Maintain
"""One action of a run. Only :class:`Measure` is measured, or counted as :class:`Count`s of two
lengths; the others are only timed."""


class Timing(NamedTuple):
    """The duration of a command: ``measured`` is the sampled part, ``limit`` the whole.

    Both are maxima in seconds; sampling stops when the command ends. ``usual`` is an estimate for a
    command that usually ends earlier.
    """

    measured: float
    limit: float
    usual: float | None = None

    @property
    def expected(self) -> float:
        """The expected duration, in seconds."""
        return self.limit if self.usual is None else self.usual


class Family(Protocol):
    """One workload family.

    ``targets`` are the names of the targets that it runs on, ``options`` its own settings.
    """

    name: str
    targets: tuple[str, ...]
    options: tuple[Option, ...]

    def workload(
        self, name: str, steps: Sequence[str], scale: Scale, options: Mapping[str, OptionValue]
    ) -> Workload:
        """Return the workload of the named steps or groups, in the published order.

        Raises :class:`UnknownStepError` for an unknown name,
        :class:`pipeline.workloads.base.options.OptionError` for an unknown setting or a wrong
        value, and ValueError for a measured time that the load generator does not support.
        """
        ...

    def actions(self, workload: Workload) -> tuple[Action, ...]:
        """Return all actions of a run, in order."""
        ...

    def size(self, workload: Workload) -> str:
        """Return the clients and the size of the database, in words."""
        scale = workload.scale
        return (
            f"{plural(scale.clients, 'client')}, "
            f"{plural(scale.tables, 'table')} of {scale.rows:,} rows"
        )

    def tables(self, workload: Workload) -> tuple[str, ...]:
        """Return the names of the tables, for maintenance; none by default."""
        return ()

    def command(
        self, action: Command, workload: Workload, connection: Connection, seed: int
    ) -> tuple[str, ...]:
        """Return the command that performs a load, warm-up or step."""
        ...

    def explain(self, workload: Workload, connection: Connection, seed: int) -> tuple[str, ...]:
        """Return the command that prints the plan of each statement of the steps.

        It executes no statement. :mod:`pipeline.workloads.base.plans` parses its output. Empty, the
        default, for a family whose statements have no plans.
        """
        return ()

    def repeatable(self, step: Step) -> bool:
        """Return whether a step leaves the database unchanged, so that it can be run again.

        By default none does.
        """
        return False

    def counted_events(self, step: Step, workload: Workload) -> int:
        """Return the events of the shorter of two counted runs of a step.

        By default 0: the step cannot be counted.
        """
        return 0

    def counted_operations(self, step: Step, workload: Workload, text: str) -> float:
        """Return the operations of a counted run from its output, as :meth:`parse` does."""
        return self.parse(step, workload, text).operations

    def timing(self, action: Command, workload: Workload) -> Timing:
        """Return how long the command of an action may take."""
        ...

    def started(self, line: str, action: Command, workload: Workload) -> bool:
        """Return whether measuring begins at this line of output or before."""
        ...

    def parse(self, step: Step, workload: Workload, text: str) -> StepOutput:
        """Parse a step's output.

        Raises ValueError, with a sentence, for incomplete output, and its subclass UnknownStepError
        for a step that the family does not have.
        """
        ...

    def tools(self) -> dict[str, str]:
        """Return the versions of the tools that it runs. Raises UserError if one is missing."""
        ...


class UnknownStepError(ValueError):
    """The family has no step of this name; the text suggests one."""
