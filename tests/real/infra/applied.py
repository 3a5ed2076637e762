"""An environment that Terraform applies to the fake of Hetzner Cloud."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

from tests.fakes.hetzner import FakeHetzner
from tests.fakes.hetzner.server import TOKEN
from tests.real.infra.rules import broken
from tests.real.infra.terraform import Terraform

LOCAL = 'terraform {\n  backend "local" {}\n}\nprovider "hcloud" {\n  poll_interval = "10ms"\n}\n'
"""The place of the state is the affair of test_state. The fake has done things when it is asked."""


def sized(program: Terraform, size: str) -> str:
    """Return a copy of the environment of what stays, with the values of a size."""
    root = f"environments/pipeline-{size}"
    folder = program.infra / root
    if not folder.exists():
        shutil.copytree(program.infra / "environments/pipeline", folder)
        # Read before what a test gives, which therefore wins.
        shutil.copy(folder / f"sizes/{size}.tfvars", folder / "a_size.auto.tfvars")
    return root


class Applied:
    """An environment with its state on this machine: ``night``, or a size of what stays."""

    def __init__(self, program: Terraform, root: str, cloud: FakeHetzner) -> None:
        self.program, self.cloud = program, cloud
        self.root = f"environments/{root}" if root == "night" else sized(program, root)
        self.environ = {"HCLOUD_TOKEN": TOKEN, "HCLOUD_ENDPOINT": cloud.url}
        (program.infra / self.root / "state_override.tf").write_text(LOCAL)
        program.init(self.root)

    def tried(self, command: str, given: Mapping[str, Any], *more: str) -> tuple[int, str]:
        self.program.give(self.root, given)
        arguments = (command, "-input=false", "-no-color", *more)
        result = self.program.run(self.root, *arguments, **self.environ)
        return result.code, result.text

    def apply(self, given: Mapping[str, Any]) -> str:
        code, text = self.tried("apply", given, "-auto-approve")
        assert code == 0, text
        return text

    def destroy(self, given: Mapping[str, Any]) -> str:
        code, text = self.tried("destroy", given, "-auto-approve")
        assert code == 0, text
        return text

    def settled(self, given: Mapping[str, Any]) -> bool:
        """Tell whether a plan has nothing to do."""
        code, text = self.tried("plan", given, "-detailed-exitcode")
        assert code in (0, 2), text
        return code == 0

    @property
    def state(self) -> str:
        return (self.program.infra / self.root / "terraform.tfstate").read_text()

    @property
    def names(self) -> dict[str, list[str]]:
        """What the cloud has, by kind."""
        return {
            kind: sorted(each["name"] for each in things.values())
            for kind, things in self.cloud.project.things.items()
            if things
        }

    def broken(self, **expected: Any) -> list[str]:
        project = self.cloud.project
        things = {kind: list(each.values()) for kind, each in project.things.items()}
        return broken(things, project.user_data, **expected)
