"""Revisions, cells and configurations to plan with."""

from __future__ import annotations

from pathlib import Path

from pipeline.config import ConfigFile
from pipeline.measure.discover import Discovered, Offer, revisions_of
from pipeline.model import Cell, Machine, Revision, Scale, ServerConfig, Step, Workload
from pipeline.targets.postgres import Postgres

VERSIONS = ("9.6.24", "13.22", "14.0", "14.24", "16.9", "17.0", "17.9", "17.10", "17.11", "18.0")

MACHINE = Machine(
    machine_class="tested",
    hostname="here",
    cpu_model="one",
    cores=2,
    memory_bytes=8 * 2**30,
    kernel="6",
    operating_system="Debian",
    virtualised="",
    storage="nvme",
)


OFFER = Offer("postgres", Postgres().supplies[0])
"""What a line of Postgres asks for that does not choose a source."""


def known() -> Discovered:
    """What a discovery found: the releases of VERSIONS."""
    packed = [version if version.count(".") == 2 else f"{version}.0" for version in VERSIONS]
    return {OFFER: revisions_of(OFFER, packed)}


def revision(version: str, copy: int = 1) -> Revision:
    """One of the releases, or a control of it."""
    (found,) = (each for each in known()[OFFER] if each.version == version)
    return found.model_copy(update={"copy_number": copy})


def workload(name: str = "tiny", clients: int = 1, steps: tuple[str, ...] = ("one",)) -> Workload:
    return Workload(
        family="sysbench",
        name=name,
        version="1",
        scale=Scale(tables=1, rows=1000, clients=clients, measure=1, warmup=0),
        steps=tuple(Step(name=step, group="writes", unit="queries") for step in steps),
    )


def cell(version: str = "17.11", copy: int = 1) -> Cell:
    return Cell(
        revision=revision(version, copy),
        build_options="official",
        config=ServerConfig(family="x10a", name="x10a_c2r8", text="fsync = off"),
        machine_class="tested",
        workload=workload(),
    )


def config_file(text: str) -> ConfigFile:
    return ConfigFile(Path("nightshift.toml"), text)
