"""Bench servers that are made for a night: Hetzner Cloud."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.config.base import Name, Section
from pipeline.mistakes import LABEL, PACKAGE, RECEIVER, VARIABLE
from pipeline.units import Duration, Price


class FleetSection(Section):
    """Servers that are made for a night, of the machine classes with a server_type."""

    name: Annotated[str, Field(pattern=LABEL)] = Field(
        default="nightshift",
        description="value of the label nightshift, by which servers are known as ours; of "
        "several pipelines in one project each has its own",
    )
    locations: tuple[Name, ...] = Field(
        default=("fsn1", "nbg1", "hel1"),
        min_length=1,
        description="where servers are made: the first that has one",
    )
    image: str = Field(
        default="debian-12", min_length=1, description="image or snapshot that they begin with"
    )
    packages: tuple[Annotated[str, Field(pattern=PACKAGE)], ...] = Field(
        default=(
            "bison",
            "ccache",
            "cmake",
            "flex",
            "g++",
            "git",
            "make",
            "patch",
            "perl",
            "python3-venv",
            "sysbench",
        ),
        description="Debian packages that they are given",
    )
    ssh_keys: tuple[str, ...] = Field(
        default=(),
        description="names of the project's keys that root of a server takes; the firewall lets "
        "nobody in by itself",
    )
    jobs: int = Field(
        default=2,
        ge=1,
        le=6,
        description="jobs that each server does, one after the other, each as a runner of its "
        "own: what a class has to do in a night is parted accordingly",
    )
    ttl: Duration = Field(
        default=28800.0,
        gt=0,
        description="time to live: the reaper deletes what is older",
        json_schema_extra={"default": "8h"},
    )
    per_night: Price | None = Field(
        default=None, description='what the servers of a night may cost, as "5 EUR"'
    )
    per_month: Price | None = Field(
        default=None, description="what all servers of a calendar month (UTC) may cost"
    )
    url: str = Field(
        default="https://api.hetzner.cloud/v1",
        pattern=RECEIVER,
        description="address of the API; the environment variable HCLOUD_ENDPOINT goes before it",
    )
    secret: str = Field(
        default="HCLOUD_TOKEN",
        pattern=VARIABLE,
        description="name of the environment variable with a token of the project that may write",
    )
    runner_secret: str = Field(
        default="GITHUB_TOKEN",
        pattern=VARIABLE,
        description="name of the environment variable with a token that may administer the "
        "repository of [github]: it registers runners, which the token that GitHub gives a "
        "workflow may not",
    )
    patience: Duration = Field(
        default=600.0,
        description="time that one step may take: an answer of the API, a server's start, the "
        "first runner of each to come",
        json_schema_extra={"default": "10m"},
    )
