"""What Terraform creates and what the verbs of ``fleet`` look for are one design."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import pytest

from pipeline.config import FleetSection, load_config
from pipeline.fleet.labels import server_name
from pipeline.fleet.night_variables import ClassServers, NightVariables

INFRA = Path(__file__).parents[3] / "infra"
BENCH = INFRA / "modules" / "bench"
_BLOCK = re.MULTILINE | re.DOTALL


def test_the_same_is_given_by_default() -> None:
    variables = (BENCH / "variables.tf").read_text()
    defaults = dict(
        re.findall(r'^variable "(\w+)" \{.*?^  default     = (.+?)$', variables, _BLOCK)
    )
    fleet = FleetSection()
    assert json.loads(defaults["packages"]) == list(fleet.packages)
    assert json.loads(defaults["image"]) == fleet.image
    assert json.loads(defaults["location"]) == fleet.locations[0]
    assert json.loads(defaults["pipeline"]) == fleet.name
    assert json.loads(defaults["ttl"]) == "8h" and fleet.ttl == 8 * 3600


def test_the_variables_of_a_night_are_those_that_the_fleet_writes() -> None:
    variables = (INFRA / "environments/night/variables.tf").read_text()
    assert re.findall(r'^variable "(\w+)"', variables, re.MULTILINE) == list(
        NightVariables.model_fields
    )
    servers = re.search(r"map\(object\(\{\n(.*?)\}\)\)", variables, _BLOCK)
    assert servers is not None
    assert re.findall(r"^ +(\w+) +=", servers[1], re.MULTILINE) == list(ClassServers.model_fields)


@pytest.mark.parametrize(
    ("night", "pipeline", "machine_class", "number", "tests"),
    [
        ("2026-03-01", "nightshift", "ccx33", 1, "modules/bench/tests/bench.tftest.hcl"),
        (
            f"Run_4711.{'9' * 40}x",
            "Team.A-x",
            "AX162-S.with.a.long.name",
            12,
            "modules/bench/tests/bench.tftest.hcl",
        ),
        (
            "2026-03-01",
            "nightshift",
            "a-class-of-nineteen",
            1,
            "modules/bench/tests/bench.tftest.hcl",
        ),
        ("trial", "nightshift", "ccx13", 1, "environments/pipeline/tests/pipeline.tftest.hcl"),
        ("4711", "team.a", "ccx13", 2, "environments/night/tests/night.tftest.hcl"),
    ],
)
def test_the_names_that_terraform_is_held_to_are_those_of_the_fleet(
    night: str, pipeline: str, machine_class: str, number: int, tests: str
) -> None:
    assert f'"{server_name(pipeline, night, machine_class, number)}"' in (INFRA / tests).read_text()


def test_what_terraform_says_of_the_fleet_is_a_configuration(tmp_path: Path) -> None:
    tests = (INFRA / "environments/pipeline/tests/pipeline.tftest.hcl").read_text()
    expected = re.search(r"output\.nightshift_toml == <<-EOT\n(.*?)^ *EOT$", tests, _BLOCK)
    assert expected is not None
    (tmp_path / "nightshift.toml").write_text(textwrap.dedent(expected[1]))
    config = load_config(tmp_path / "nightshift.toml").config
    (machine_class,) = config.machine_class
    assert (machine_class.server_type, machine_class.cores, machine_class.count) == ("ccx33", 8, 2)
    assert config.fleet.per_night is not None and config.github.repository == "me/bench"
