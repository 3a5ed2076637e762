"""The settings for servers that are rented for a night at Hetzner Cloud."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.config.base import Name, Section
from pipeline.config.config_errors import LABEL, PACKAGE, RECEIVER, VARIABLE
from pipeline.text.units import Duration, Price


class FleetSection(Section):
    """The table ``[fleet]``: servers rented for a night, their budget and location."""

    name: Annotated[str, Field(pattern=LABEL)] = Field(
        default="nightshift",
        description=(
            "value of the label nightshift, which marks the servers of this pipeline; "
            "pipelines that share a project need different values"
        ),
    )
    locations: tuple[Name, ...] = Field(
        default=("fsn1", "nbg1", "hel1"),
        min_length=1,
        description="locations, in order of preference; servers are created in the first "
        "with capacity",
    )
    image: str = Field(
        default="debian-12", min_length=1, description="image or snapshot that servers start from"
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
        description="Debian packages that are installed on servers",
    )
    ssh_keys: tuple[str, ...] = Field(
        default=(),
        description=(
            "names of the project's SSH keys that may log in as root; the firewall blocks all "
            "incoming connections by default"
        ),
    )
    jobs: int = Field(
        default=2,
        ge=1,
        le=6,
        description=(
            "jobs of a night for each server, one after the other, each with its own runner; "
            "the work of a machine class is divided into this many jobs for each server"
        ),
    )
    ttl: Duration = Field(
        default="8h",
        validate_default=True,
        gt=0,
        description="time to live: the reaper deletes older servers",
    )
    per_night: Price | None = Field(
        default=None, description='maximum cost of the servers of a night, for example "5 EUR"'
    )
    per_month: Price | None = Field(
        default=None, description="maximum cost of all servers in a calendar month (UTC)"
    )
    url: str = Field(
        default="https://api.hetzner.cloud/v1",
        pattern=RECEIVER,
        description=(
            "address of Hetzner Cloud's API; the environment variable HCLOUD_ENDPOINT takes "
            "precedence"
        ),
    )
    secret: str = Field(
        default="HCLOUD_TOKEN",
        pattern=VARIABLE,
        description="name of the environment variable that holds a read and write token of "
        "the project",
    )
    runner_secret: str = Field(
        default="GITHUB_TOKEN",
        pattern=VARIABLE,
        description=(
            "name of the environment variable that holds a token with administration rights to "
            "the repository of [github], to register runners (a workflow's own token cannot do "
            "that)"
        ),
    )
    patience: Duration = Field(
        default="10m",
        validate_default=True,
        description=(
            "timeout of one step: an API request, the start of a server, the registration of "
            "its first runner"
        ),
    )
