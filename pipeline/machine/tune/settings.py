"""The settings that tuning can change; ``"keep"`` or no value leaves one unchanged."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pipeline.model import Frozen

KEEP = "keep"
"""The value that leaves a setting unchanged."""

Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
"""A name of the kernel: of a governor or a scheduler."""

Timer = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9@:_.\\-]*\.timer$")]
"""The name of a systemd timer."""


class TuneSettings(Frozen):
    """Which kernel settings a machine should have; the defaults suit a dedicated host."""

    governor: Word = Field(
        default="performance",
        description='frequency governor of all processors; "keep" does not change it',
    )
    turbo: Literal["off", "on", "keep"] = Field(
        default="off",
        description="turbo: frequencies above the nominal one, which depend on the temperature",
    )
    smt: Literal["off", "on", "keep"] = Field(
        default="keep", description="SMT: two threads on each processor core"
    )
    idle_latency_us: int | None = Field(
        default=None,
        ge=0,
        description="maximum latency of idle states in microseconds; slower ones are not entered",
    )
    aslr: Literal["off", "keep"] = Field(
        default="keep", description='address space randomisation; "off" is less secure'
    )
    swap: Literal["off", "keep"] = Field(default="keep", description="swap devices and files")
    swappiness: int | None = Field(
        default=None, ge=0, le=200, description="vm.swappiness, the kernel's tendency to swap"
    )
    thp: Literal["always", "madvise", "never", "keep"] = Field(
        default="madvise", description="transparent huge pages"
    )
    numa_balancing: Literal["off", "keep"] = Field(
        default="off",
        description="automatic NUMA balancing: moving memory between nodes while it is used",
    )
    dirty_ratio: int | None = Field(
        default=None, ge=1, le=100, description="vm.dirty_ratio, in percent of memory"
    )
    dirty_background_ratio: int | None = Field(
        default=None, ge=1, le=100, description="vm.dirty_background_ratio, in percent of memory"
    )
    io_scheduler: Word = Field(
        default="none", description='I/O scheduler of SSDs; "keep" does not change it'
    )
    stop_timers: tuple[Timer, ...] = Field(
        default=(), description="systemd timers to stop, for example apt-daily.timer"
    )
    drop_caches: bool = Field(
        default=True, description="drop the file cache once, when the machine is tuned"
    )
    fstrim: bool = Field(
        default=False,
        description="run fstrim once, when the machine is tuned",
    )
