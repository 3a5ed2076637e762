"""Types for machines, for what is sampled on them, and for connections to servers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field

from pipeline.model.base import Frozen


class Disk(Frozen):
    """One disk, as the kernel describes it; empty or None for unknown facts."""

    name: str
    model: str = ""
    firmware: str = ""
    size_bytes: int | None = None
    rotational: bool | None = None
    scheduler: str = ""
    write_cache: str = ""


class Machine(Frozen):
    """One server with its fingerprint. Machines of equal hardware form a machine class.

    ``cores`` is the number of logical processors: hardware threads, if SMT is on. ``storage`` and
    ``mount`` describe the folder with the databases, ``disks`` the disks under it. ``cmdline`` has
    the kernel's parameters, ``software`` the versions of the C library and the compilers. An empty
    value or None means unknown; bundles of an older nightshift lack some fields.
    """

    machine_class: str
    hostname: str
    cpu_model: str
    cores: int
    memory_bytes: int
    kernel: str
    operating_system: str
    virtualised: str
    storage: str
    microcode: str = ""
    sockets: int | None = None
    physical_cores: int | None = None
    numa_nodes: int | None = None
    memory_speed: str = ""
    mount: str = ""
    disks: tuple[Disk, ...] = ()
    cmdline: str = ""
    software: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, str] = Field(default_factory=dict)


class Pinning(Frozen):
    """Which processors the server, the client and nightshift itself may use.

    ``background`` are the processors for the server's background work. If it is empty, this work
    runs on the processors in ``server``, as in all bundles of an older nightshift.
    """

    server: tuple[int, ...] = ()
    client: tuple[int, ...] = ()
    harness: tuple[int, ...] = ()
    background: tuple[int, ...] = Field(default=(), exclude_if=lambda processors: not processors)

    @property
    def embedded(self) -> tuple[int, ...]:
        """The processors of a load generator that contains the DBMS."""
        return tuple(sorted({*self.server, *self.client, *self.background}))


class FieldKind(StrEnum):
    """The kind of a sampled value: a counter that only grows, or a gauge."""

    COUNTER = "counter"
    GAUGE = "gauge"


class SampledField(NamedTuple):
    """One value that is sampled every second: its name, kind and unit."""

    name: str
    kind: FieldKind
    unit: str


WAIT_FIELD = "dbms.wait:"
"""Prefix of sampled fields that count the sessions whose statements wait for one event, for example
``dbms.wait:Lock:transactionid``. An event for which no session waits is missing."""


class ProbeSample(NamedTuple):
    """The sampled values at one moment, ``at`` seconds after the start of the step."""

    at: float
    values: Mapping[str, float]


class Connection(Frozen):
    """How clients reach a started server: its Unix socket, user and database.

    ``driver`` is sysbench's name for the protocol (pgsql, mysql). For a DBMS without a server,
    ``driver`` is the name of the DBMS and ``socket_dir`` the folder of its database. The load
    generator then loads the library ``program``, or runs ``command``: a program of the build with
    the options of the configuration.
    """

    driver: str
    socket_dir: str
    port: int
    user: str
    database: str
    program: str = ""
    command: tuple[str, ...] = ()
