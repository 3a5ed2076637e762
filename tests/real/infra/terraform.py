"""Terraform and OpenTofu as programs, in a copy of ``infra/`` that they may write into.

The provider is the one that ``tools/setup terraform`` builds. The program itself says under which
host it looks for the provider.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import go_tools

ROOT = Path(__file__).parents[3]
INFRA = ROOT / "infra"
PROGRAMS = ("terraform", "tofu")
_PROVIDER = "terraform-provider-hcloud"
_SOURCE = "hetznercloud/hcloud"
_NO_COPIES = shutil.ignore_patterns(".terraform", ".terraform.lock.hcl", "*.tfstate*")


def roots() -> list[str]:
    """Return the modules and environments, by their folders in ``infra/``."""
    places = {each.parent.relative_to(INFRA).as_posix() for each in INFRA.glob("*/*/*.tf")}
    return sorted(places)


@contextmanager
def process_group(
    command: Sequence[str], environ: Mapping[str, str]
) -> Iterator[subprocess.Popen[str]]:
    """Run a command in a process group of its own, which is killed at the end of the block."""
    process = subprocess.Popen(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)
        process.communicate()


@dataclass(frozen=True)
class Result:
    """How a run of the program ended, and what it said."""

    code: int
    text: str


@dataclass(frozen=True)
class Terraform:
    """A program with a copy of ``infra/`` and the provider. ``environ`` is all that it is given."""

    program: str
    infra: Path
    mirror: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    def run(self, folder: str, *arguments: str, **environ: str) -> Result:
        """Run it in a folder of the copy; whatever it says is in the result."""
        with self.begun(folder, *arguments, **environ) as process:
            text, _ = process.communicate(timeout=300)
        return Result(process.returncode, text)

    @contextmanager
    def begun(
        self, folder: str, *arguments: str, **environ: str
    ) -> Iterator[subprocess.Popen[str]]:
        """Run it in a folder of the copy, in a process group that ends with the block."""
        command = [self.program, f"-chdir={self.infra / folder}", *arguments]
        with process_group(command, {**self.environ, **environ}) as process:
            yield process

    def init(self, folder: str, *arguments: str, **environ: str) -> None:
        """Make a folder ready, from the provider that is here alone."""
        given = (f"-plugin-dir={self.mirror}", "-input=false", "-no-color", *arguments)
        result = self.run(folder, "init", *given, **environ)
        assert result.code == 0, result.text

    def must(self, folder: str, *arguments: str, **environ: str) -> str:
        """Run it; return what it says, which must be no failure."""
        result = self.run(folder, *arguments, **environ)
        assert result.code == 0, result.text
        return result.text

    def give(self, folder: str, values: Mapping[str, Any]) -> None:
        """Give the variables of a folder these values from now on, and no others."""
        (self.infra / folder / "given.auto.tfvars.json").write_text(json.dumps(values))

    def outputs(self, folder: str) -> dict[str, Any]:
        """Return the outputs of what was applied."""
        reported = json.loads(self.must(folder, "output", "-json"))
        return {name: each["value"] for name, each in reported.items()}


def terraform(name: str, folder: Path) -> Terraform:
    """Return a program with a fresh copy in an empty folder; skip where it cannot be had."""
    program = _program(name)
    if not roots():
        pytest.skip("there is no infra/ here")
    shutil.copytree(INFRA, folder / "infra", ignore=_NO_COPIES)
    settings = folder / "settings.tfrc"
    settings.write_text("# Nothing of the user's.\n")
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "TF_CLI_CONFIG_FILE": str(settings),
        "TF_IN_AUTOMATION": "1",
        "CHECKPOINT_DISABLE": "1",
    }
    bare = Terraform(program, folder, folder / "mirror", environ)
    _fill(bare)
    return Terraform(program, folder / "infra", bare.mirror, environ)


def _program(name: str) -> str:
    """Return the path of Terraform or of OpenTofu; skip without it."""
    if name == "tofu":
        return str(go_tools.program(name))
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def _fill(bare: Terraform) -> None:
    """Put the provider where the program looks for it."""
    provider = go_tools.program(_PROVIDER, "terraform")
    version = provider.name.removeprefix(f"{_PROVIDER}-")
    asking = bare.infra / "asking"
    asking.mkdir()
    needed = f'terraform {{\n  required_providers {{ hcloud = {{ source = "{_SOURCE}" }} }}\n}}\n'
    (asking / "main.tf").write_text(needed)
    reported = re.search(rf"provider\[([^/\]]+)/{_SOURCE}", bare.must("asking", "providers"))
    assert reported is not None
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    place = bare.mirror / reported[1] / _SOURCE / version / f"linux_{machine}"
    place.mkdir(parents=True)
    (place / f"{_PROVIDER}_v{version}").symlink_to(provider)
