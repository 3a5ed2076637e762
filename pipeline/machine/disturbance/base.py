"""What a watch for one kind of disturbance is made of, and how much of each kind is too much."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field

from pipeline.machine.tree import Tree
from pipeline.model import Frozen, Sample
from pipeline.units import Duration, Percent, Size


class Kind(StrEnum):
    """What can disturb a step."""

    OTHERS = "other processes"
    STEAL = "steal"
    THROTTLING = "throttling"
    CLOCK_RATE = "clock rate"
    TEMPERATURE = "disk temperature"
    LINK = "disk link"
    SWAPPING = "swapping"
    OUT_OF_MEMORY = "out of memory"
    MEMORY_ERRORS = "memory errors"
    CLOCK = "clock"


class Disturbance(NamedTuple):
    """One disturbance of a step; ``told`` is a sentence without its full stop."""

    kind: Kind
    told: str


class Limits(Frozen):
    """How much of each kind a step may have, and how often one with more is measured again."""

    watch: bool = Field(
        default=True, description="watch what disturbs the steps; without it nothing is marked"
    )
    repeat: int = Field(
        default=2,
        ge=0,
        le=10,
        description="how often what was disturbed is measured again at most; 0 only marks it",
    )
    others: Percent = Field(
        default=0.05,
        gt=0,
        description="share of the time of all processors that other processes may use",
        json_schema_extra={"default": "5%"},
    )
    steal: Percent = Field(
        default=0.02,
        gt=0,
        description="share of the time of all processors that the hypervisor may take",
        json_schema_extra={"default": "2%"},
    )
    slowdown: Percent = Field(
        default=0.1,
        gt=0,
        description="by how much the processors' clock rate may fall within a step",
        json_schema_extra={"default": "10%"},
    )
    disk_celsius: float = Field(
        default=70.0,
        gt=0,
        allow_inf_nan=False,
        description="degrees that a disk may have; one whose own limit is lower has that",
    )
    swapped: Size = Field(
        default=10_000_000,
        description="bytes that may be swapped in and out",
        json_schema_extra={"default": "10MB"},
    )
    clock_jump: Duration = Field(
        default=0.1,
        gt=0,
        description="by how much the time of day may be set, or the machine be suspended",
        json_schema_extra={"default": "100ms"},
    )


class Moment(NamedTuple):
    """The kernel's clocks at one moment, in seconds (clock_gettime(2)).

    ``realtime`` is the time of day, which can be set; ``monotonic`` cannot, and stands still while
    the machine is suspended; ``boottime`` does not.
    """

    realtime: float
    monotonic: float
    boottime: float


@dataclass(frozen=True)
class Scene:
    """Where a step is watched.

    ``ours`` are the processes below which everything belongs to the measurement: the server's, and
    the harness, which starts the load generator. ``clock`` tells the moment.
    """

    tree: Tree
    limits: Limits
    ours: Collection[int]
    clock: Callable[[], Moment]


Ending = Callable[[Sequence[Sample]], str]
"""Takes the reading after a step, with the step's samples; what disturbed it, empty if nothing."""

Watch = Callable[[Scene], Ending]
"""Takes the reading before a step."""
