"""The settings of the machine that measures."""

from __future__ import annotations

import os

from pydantic import Field

from pipeline.config.base import Name, Section
from pipeline.config.transfer import Address
from pipeline.text.units import Price


class MachineSection(Section):
    """The table ``[machine]``: the machine that measures."""

    machine_class: str = Field(
        default="",
        alias="class",
        description=(
            "name of the class that this machine belongs to; empty to derive one from the processor"
        ),
    )
    pin: bool = Field(default=True, description="pin server, client and harness to separate cores")
    builds: int = Field(
        default=1, ge=1, le=64, description="number of builds compiled at the same time"
    )
    jobs: int = Field(
        default=0, ge=0, description="parallel commands of a build; 0 for one for each processor"
    )
    port: int = Field(
        default=0, ge=0, le=65535, description="port of the server on loopback; 0 picks a free one"
    )
    price_per_hour: Price | None = Field(
        default=None,
        description=(
            'price of an hour of this machine, for example "0.34 EUR"; with it, the ledger '
            "also shows costs"
        ),
    )

    @property
    def own_class(self) -> str:
        """The machine class of this machine; NIGHTSHIFT_MACHINE_CLASS overrides the file."""
        return os.environ.get("NIGHTSHIFT_MACHINE_CLASS", self.machine_class)


class ClassSection(Section):
    """A table ``[[class]]``: a class of measuring machines, whose results this machine collects."""

    name: Name = Field(description="name of the machine class")
    cores: int = Field(ge=1, description="number of processors, to which configurations are scaled")
    memory_gb: int = Field(
        ge=1, description="installed memory in GB, to which configurations are scaled"
    )
    runner: tuple[str, ...] = Field(
        default=(),
        description="labels of its self-hosted runners; by default self-hosted and the name",
    )
    lines: tuple[str, ...] = Field(
        default=(), description="lines that this class measures; empty for all"
    )
    places: tuple[Address, ...] = Field(
        default=(),
        alias="from",
        description=(
            "places with results of this class alone, measured by its own timer: folders, "
            "ssh://user@host/path, s3://bucket/prefix"
        ),
    )
    server_type: str = Field(
        default="",
        description=(
            "type of the cloud server created for a night, for example ccx13; empty for "
            "permanent machines"
        ),
    )
    instead: tuple[Name, ...] = Field(
        default=(),
        description="types of equal hardware, used where server_type is unavailable",
    )
    count: int = Field(
        default=1, ge=1, description="number of machines that measure at the same time"
    )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of a GitHub Actions runner on machines of this class."""
        return self.runner or ("self-hosted", self.name)
