"""The user data of servers and hosts at their first boot: valid for cloud-init and for a shell."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from pipeline.config.file import ConfigFile
from tests.fakes.hetzner import FakeHetzner
from tests.real.infra.applied import Applied
from tests.real.infra.given import LAPTOP, night, seeds
from tests.real.infra.terraform import Terraform

SCHEMA = "schema-cloud-config-v1.json"
INSTALLED = Path("/usr/lib/python3/dist-packages/cloudinit/config/schemas")


@pytest.fixture(scope="session")
def schema() -> dict[str, Any]:
    """The schema that cloud-init itself comes with."""
    for file in (Path(sys.prefix) / "cloud-init" / SCHEMA, INSTALLED / SCHEMA):
        if file.exists():
            read: dict[str, Any] = json.loads(file.read_text())
            return read
    pytest.skip("the schema of cloud-init is not here; tools/setup terraform unpacks Debian's")


def mistakes(schema: dict[str, Any], text: str) -> list[str]:
    """Return what the schema says of a text for cloud-init."""
    assert text.startswith("#cloud-config\n")
    errors = jsonschema.Draft4Validator(schema).iter_errors(yaml.safe_load(text))
    return [f"{list(each.absolute_path)}: {each.message}" for each in errors]


def complaints(script: str) -> str:
    """Return what shellcheck says of a script."""
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed; tools/setup check installs Debian's")
    # Files of the server are not here to be followed.
    done = subprocess.run(
        ["shellcheck", "--exclude=SC1090,SC1091", "-"],
        input=script,
        text=True,
        capture_output=True,
        check=False,
    )
    return done.stdout


def scripts(text: str) -> dict[str, str]:
    """Return the shell scripts in a text for cloud-init, by their places."""
    written = yaml.safe_load(text).get("write_files", [])
    contents = {each["path"]: each["content"] for each in written}
    return {path: text for path, text in contents.items() if text.startswith("#!/bin")}


def test_cloud_init_and_a_shell_take_the_user_data_of_every_environment(
    program: Terraform, cloud: FakeHetzner, schema: dict[str, Any]
) -> None:
    Applied(program, "bench", cloud).apply(LAPTOP)
    published = Applied(program, "seeds", cloud)
    published.apply(seeds())
    Applied(program, "night", cloud).apply(night(1))
    hosts = program.outputs(published.root)["hosts"]
    reported = dict(cloud.project.user_data)
    assert len(reported) == 3, "the trial, the hub, a bench"
    reported |= {name: host["cloud_init"] for name, host in hosts.items()}
    assert len(reported) == 5
    seen = set()
    for name, text in reported.items():
        assert mistakes(schema, text) == [], name
        for place, script in scripts(text).items():
            assert complaints(script) == "", place
            seen.add(Path(place).name)
    assert {
        "nightshift-install",
        "nightshift-runner",
        "nightshift-job",
        "nightshift-volume",
        "nightshift-terraform",
    } <= seen
    for host in hosts.values():
        assert complaints(host["post_install"]) == ""
    text = program.outputs(published.root)["nightshift_toml"]
    config = ConfigFile(Path("nightshift.toml"), text).config
    classes = [each.name for each in config.machine_class]
    assert sorted(classes) == ["7049a-t", "ax162-s", "ccx33", "ccx53"]


def test_mistakes_are_seen(schema: dict[str, Any]) -> None:
    assert mistakes(schema, "#cloud-config\nusers: 5\n")
    assert mistakes(schema, "#cloud-config\nruncmd: {systemctl: restart}\n")
    assert mistakes(schema, "#cloud-config\nwrite_files: [{content: lost}]\n")
    assert "SC2086" in complaints("#!/bin/bash\nrm -r $folder\n")
