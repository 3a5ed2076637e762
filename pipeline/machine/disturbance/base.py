"""The interface of a watch for one kind of disturbance, and all limits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field

from pipeline.machine.kernel_files import Tree
from pipeline.model import Frozen, ProbeSample
from pipeline.text.units import Duration, Percent, Size


class DisturbanceKind(StrEnum):
    """What can disturb a step: other processes, steal, heat, swapping, and so on."""

    OTHERS = "other processes"
    STEAL = "steal"
    THROTTLING = "throttling"
    CLOCK_RATE = "clock rate"
    TEMPERATURE = "disk temperature"
    LINK = "disk link"
    SWAPPING = "swapping"
    OUT_OF_MEMORY = "out of memory"
    STOPPED = "stopped"
    MEMORY_ERRORS = "memory errors"
    CLOCK = "clock"


class Disturbance(NamedTuple):
    """One thing that disturbed a step; ``reported`` describes it in a sentence."""

    kind: DisturbanceKind
    reported: str


class Limits(Frozen):
    """How much of each kind of disturbance a step may have before it is repeated."""

    watch: bool = Field(
        default=True, description="watch for disturbances of steps; if false, no step is marked"
    )
    repeat: int = Field(
        default=2,
        ge=0,
        le=10,
        description="maximum number of repetitions of a disturbed run; 0 only marks it",
    )
    budget: Percent = Field(
        default="15%",
        validate_default=True,
        description="maximum time for repeating disturbed steps and runs of a night, as a share of "
        "its other time; the worst runs first",
    )
    others: Percent = Field(
        default="5%",
        validate_default=True,
        gt=0,
        description="limit of the time that other processes use on the measured cores, as a share "
        "of one core, above the machine's own base rate",
    )
    steal: Percent = Field(
        default="5%",
        validate_default=True,
        gt=0,
        description=(
            "limit of steal, the time taken by the hypervisor, as a share of the time that a "
            "measured core had work, above the machine's own base rate"
        ),
    )
    slowdown: Percent = Field(
        default="10%",
        validate_default=True,
        gt=0,
        description="limit of the decrease of the processors' clock rate within a step",
    )
    disk_celsius: float = Field(
        default=70.0,
        gt=0,
        allow_inf_nan=False,
        description=(
            "temperature limit of a disk in degrees Celsius; a lower limit of the disk itself "
            "takes precedence"
        ),
    )
    swapped: Size = Field(
        default="10MB", validate_default=True, description="limit of the bytes swapped in and out"
    )
    clock_jump: Duration = Field(
        default="100ms",
        validate_default=True,
        gt=0,
        description="limit of a clock jump or of a suspension of the machine",
    )


class ClockReading(NamedTuple):
    """The kernel's clocks at one moment, in seconds.

    ``realtime`` is the time of day, which can be set. ``monotonic`` cannot be set, and stops while
    the machine is suspended; ``boottime`` does not stop.
    """

    realtime: float
    monotonic: float
    boottime: float


@dataclass(frozen=True)
class Scene:
    """What a watch can see: kernel files, our processes, the samples of the step.

    ``ours`` are the processes whose descendants belong to the measurement: the server, and the
    harness, which starts the load generator. ``clock`` reads the clocks. ``serving`` are the
    processors that serve: those of the server's connections and of the load generator; empty if
    nothing is pinned.
    """

    tree: Tree
    limits: Limits
    ours: Collection[int]
    clock: Callable[[], ClockReading]
    serving: Collection[int] = ()


Ending = Callable[[Sequence[ProbeSample]], str]
"""The second half of a watch, called after a step with the step's samples. It reads the machine
again, and returns a sentence about the disturbance, or "" if there was none."""

Watch = Callable[[Scene], Ending]
"""The first half of a watch, called before a step. It reads the machine, and returns the function
to call after the step."""


class TakenTime(NamedTuple):
    """The share of a core's time that something took during a step, and a sentence about it."""

    share: float
    reported: str


ShareEnding = Callable[[Sequence[ProbeSample]], TakenTime | None]
"""As :data:`Ending`, for a disturbance that is a share of time; None if it is unknown."""

ShareWatch = Callable[[Scene], ShareEnding]
"""As :data:`Watch`, for a disturbance that is a share of time, which the guard compares with its
limit."""
