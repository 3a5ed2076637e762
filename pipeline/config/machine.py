"""The machine that measures."""

from __future__ import annotations

import os

from pydantic import Field

from pipeline.config.base import Name, Section
from pipeline.units import Price


class MachineSection(Section):
    """The machine that measures."""

    machine_class: str = Field(
        default="",
        alias="class",
        description="name of its machine class; empty to derive one from the processor",
    )
    pin: bool = Field(default=True, description="keep server, client and harness on fixed cores")
    builds: int = Field(default=1, ge=1, le=64, description="how many builds are compiled at once")
    jobs: int = Field(
        default=0, ge=0, description="commands that a build runs at once; 0 for all processors"
    )
    port: int = Field(
        default=0, ge=0, le=65535, description="port of the server on loopback; 0 picks a free one"
    )
    price_per_hour: Price | None = Field(
        default=None,
        description='what an hour of it costs, as "0.34 EUR"; the ledger then tells money, too',
    )

    @property
    def own_class(self) -> str:
        """The class of this machine, where it has a name: all machines of a fleet share a file."""
        return os.environ.get("NIGHTSHIFT_MACHINE_CLASS", self.machine_class)


class ClassSection(Section):
    """A class of machines that measure for a hub, which has no such machine itself."""

    name: Name = Field(description="name of the machine class")
    cores: int = Field(ge=1, description="processors, which configurations are scaled to")
    memory_gb: int = Field(ge=1, description="installed memory in GB, which they are scaled to")
    runner: tuple[str, ...] = Field(
        default=(),
        description="labels of its self-hosted runners; by default self-hosted and the name",
    )
    lines: tuple[str, ...] = Field(default=(), description="lines that it measures; empty for all")
    server_type: str = Field(
        default="",
        description="type of the cloud server that is made for a night, as ccx13; empty for "
        "machines that stay",
    )
    instead: tuple[Name, ...] = Field(
        default=(),
        description="types of equal hardware that are made where that one cannot be had",
    )
    count: int = Field(default=1, ge=1, description="machines that measure at once")

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that a runner of this class has."""
        return self.runner or ("self-hosted", self.name)
