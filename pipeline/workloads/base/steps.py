"""Find steps of a workload family by the names that users write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Generic, Protocol, TypeVar

from pipeline.text.errors import did_you_mean
from pipeline.workloads.base import UnknownStepError

ALL: Final = "all"
"""The name that selects every step of a family."""


class NamedStep(Protocol):
    """A step that has a name and belongs to a group."""

    @property
    def name(self) -> str:
        """The full name of the step, unique in its family."""
        ...

    @property
    def group(self) -> str:
        """The group of steps to which the step belongs in the published reports."""
        ...


S = TypeVar("S", bound=NamedStep)


class StepNames(Generic[S]):
    """The steps of a workload family by name, in the order of a run.

    A name is a step's full name, its ``short`` name, which several steps may share, a group, or
    ``all``. All methods raise UnknownStepError for any other name.
    """

    def __init__(
        self, steps: Sequence[S], short: Callable[[S], str] = lambda step: step.name
    ) -> None:
        self._steps = tuple(steps)
        self._full = {step.name: step for step in steps}
        self._aliases: dict[str, list[S]] = {ALL: list(steps)}
        for alias in (lambda step: step.group, short):
            for step in steps:
                self._aliases.setdefault(alias(step), []).append(step)

    def named(self, name: str) -> S:
        """Return the step with this full name."""
        if name not in self._full:
            raise UnknownStepError(f"there is no step {name!r}; {did_you_mean(name, self._full)}")
        return self._full[name]

    def matching(self, name: str) -> tuple[S, ...]:
        """Return the steps that have ``name`` as full name, as short name or as group."""
        if name in self._full:
            return (self._full[name],)
        if name in self._aliases:
            return tuple(self._aliases[name])
        raise UnknownStepError(f"there is no step {name!r}; {did_you_mean(name, self._aliases)}")

    def select(self, names: Iterable[str]) -> tuple[S, ...]:
        """Return all steps that match some names or groups, each once, in the order of a run."""
        chosen = {step.name for name in names for step in self.matching(name)}
        return tuple(step for step in self._steps if step.name in chosen)
