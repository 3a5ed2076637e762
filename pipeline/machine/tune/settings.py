"""What may be tuned. ``"keep"`` or no value leaves a setting as it is."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pipeline.model import Frozen

KEEP = "keep"
"""What says that a setting stays as it is."""

Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
"""A name that the kernel gives: of a governor, of a scheduler."""

Timer = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9@:_.\\-]*\.timer$")]
"""The name of a timer of systemd."""


class Settings(Frozen):
    """What the machine is to be like. The defaults are for a host that does nothing else."""

    governor: Word = Field(
        default="performance", description='frequency governor of all processors; "keep" leaves it'
    )
    turbo: Literal["off", "on", "keep"] = Field(
        default="off", description="frequencies above the nominal one, which depend on the heat"
    )
    smt: Literal["off", "on", "keep"] = Field(
        default="keep", description="two threads on one core of the processor"
    )
    idle_latency_us: int | None = Field(
        default=None,
        ge=0,
        description="idle states that take more microseconds to leave are not entered",
    )
    aslr: Literal["off", "keep"] = Field(
        default="keep", description="random addresses of programs: less safe without"
    )
    swap: Literal["off", "keep"] = Field(default="keep", description="swap devices and files")
    swappiness: int | None = Field(
        default=None, ge=0, le=200, description="vm.swappiness: how readily memory is swapped out"
    )
    thp: Literal["always", "madvise", "never", "keep"] = Field(
        default="madvise", description="transparent huge pages"
    )
    numa_balancing: Literal["off", "keep"] = Field(
        default="off", description="moving memory between NUMA nodes while it is used"
    )
    dirty_ratio: int | None = Field(
        default=None, ge=1, le=100, description="vm.dirty_ratio, in percent of memory"
    )
    dirty_background_ratio: int | None = Field(
        default=None, ge=1, le=100, description="vm.dirty_background_ratio, in percent of memory"
    )
    io_scheduler: Word = Field(
        default="none", description='of disks that do not rotate; "keep" leaves it'
    )
    stop_timers: tuple[Timer, ...] = Field(
        default=(), description="timers of systemd that are stopped, as apt-daily.timer"
    )
    drop_caches: bool = Field(
        default=True, description="forget cached files once, when the machine is tuned"
    )
    fstrim: bool = Field(
        default=False,
        description="tell disks what is unused once, when the machine is tuned",
    )
