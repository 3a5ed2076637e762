"""The variables of the Terraform module that creates the servers of a night."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import AwareDatetime

from pipeline.fleet.runners import Program
from pipeline.model import Frozen

_MODE = 0o600
"""Mode of the file with the variables: only its owner may read the runner configurations."""


class ClassServers(Frozen):
    """The servers of one machine class: how many, of which type, and where."""

    server_type: str
    location: str
    server_count: int
    cores: int
    memory_gb: int
    runner_labels: tuple[str, ...]


class NightVariables(Frozen):
    """The variables of ``infra/environments/night``, by their names there.

    ``runner_configurations`` are secrets: each machine class has, for each of its servers, one
    configuration per job.
    """

    pipeline: str
    night: str
    expires: AwareDatetime
    image: str
    packages: tuple[str, ...]
    project_keys: tuple[str, ...]
    runner_program: Program
    classes: Mapping[str, ClassServers]
    runner_configurations: Mapping[str, tuple[tuple[str, ...], ...]]

    def write(self, path: Path) -> None:
        """Write the variables to a file that only its owner may read."""
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
        with open(descriptor, "w") as file:  # noqa: PTH123 - a descriptor, no path
            file.write(self.model_dump_json(indent=1))
