"""What every workload family owes: its steps, their order, their commands, their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from pipeline.model import Connection, Frozen, OptionValue, Scale, Step, StepOutput, Workload
from pipeline.workloads.base.options import Option


class Load(Frozen):
    """Make the tables and fill them."""


class Warm(Frozen):
    """Run a step's statements without measuring, to fill caches."""

    step: Step


class Measure(Frozen):
    """Run a step and measure it."""

    step: Step


class Maintain(Frozen):
    """Do the postwrite maintenance, then rest so many seconds."""

    rest: float


Command = Load | Warm | Measure
"""The actions that are a command of the load generator; maintenance is the target's."""

Action = Command | Maintain
"""One thing to do. Only :class:`Measure` is measured; the rest is timed."""


class Timing(NamedTuple):
    """How long a command takes: ``measured`` is the part that is sampled, ``limit`` the whole.

    Both in seconds, and at most: what ends earlier is sampled to its end. Where that is usual,
    ``usual`` is a guess at how long it takes.
    """

    measured: float
    limit: float
    usual: float | None = None

    @property
    def expected(self) -> float:
        """How long it takes as far as one can tell, in seconds."""
        return self.limit if self.usual is None else self.usual


class Family(Protocol):
    """One workload family.

    ``targets`` are the names of those that it can run on, ``options`` the settings that it has
    of its own.
    """

    name: str
    targets: tuple[str, ...]
    options: tuple[Option, ...]

    def workload(
        self, name: str, steps: Sequence[str], scale: Scale, options: Mapping[str, OptionValue]
    ) -> Workload:
        """Return the workload of the named steps or groups, in the published order.

        Raises :class:`UnknownStepError` for a name that is neither,
        :class:`pipeline.workloads.base.options.OptionError` for a setting that it does not
        have, and ValueError for a measured time that it cannot do.
        """
        ...

    def actions(self, workload: Workload) -> tuple[Action, ...]:
        """Return everything a run does, in order."""
        ...

    def tables(self, workload: Workload) -> tuple[str, ...]:
        """Return the names of the tables, for maintenance."""
        ...

    def command(
        self, action: Command, workload: Workload, connection: Connection, seed: int
    ) -> tuple[str, ...]:
        """Return the command that performs a load, warm-up or step."""
        ...

    def explain(self, workload: Workload, connection: Connection, seed: int) -> tuple[str, ...]:
        """Return the command that prints the plan of each statement of the steps.

        It executes none of them; :mod:`pipeline.workloads.base.plans` reads what it prints.
        Nothing for a family whose statements have no plans.
        """
        ...

    def repeatable(self, step: Step) -> bool:
        """Say whether a step leaves the database as it found it, so that it can be run again."""
        ...

    def timing(self, action: Command, workload: Workload) -> Timing:
        """Return how long the command of an action may take."""
        ...

    def started(self, line: str, action: Command, workload: Workload) -> bool:
        """Say whether this line of output means that measuring begins now, at the latest."""
        ...

    def parse(self, step: Step, workload: Workload, text: str) -> StepOutput:
        """Read a step's output.

        Raises ValueError, in a sentence, when it is not whole, and its kind UnknownStepError
        for a step that the family does not have.
        """
        ...

    def tools(self) -> dict[str, str]:
        """Return the versions of the tools it runs. Raises UserError for a missing one."""
        ...


class UnknownStepError(ValueError):
    """A step name that the family does not have; the text says what was meant."""
