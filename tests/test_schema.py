"""The JSON schema describes to editors what the program does."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pipeline.config import Config, ConfigFile, json_schema, load_config
from pipeline.text.errors import UserError
from pipeline.text.units import parse_duration, parse_percent

ROOT = Path(__file__).parents[1]


def properties() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield table, setting and description of every setting."""
    definitions = json_schema()["$defs"]
    for table, description in json_schema()["properties"].items():
        section = re.search(r"#/\$defs/(\w+)", json.dumps(description))
        assert section is not None, table
        for name, setting in definitions[section[1]]["properties"].items():
            yield table, name, setting


SETTINGS = list(properties())


def accepted_by_schema(text: str) -> bool:
    try:
        jsonschema.validate(tomllib.loads(text), json_schema())
    except jsonschema.ValidationError:
        return False
    return True


def accepted_by_loader(text: str) -> bool:
    try:
        ConfigFile(Path("nightshift.toml"), text)
    except UserError:
        return False
    return True


def test_the_committed_schema_is_the_present_one() -> None:
    committed = json.loads((ROOT / "schema/nightshift.schema.json").read_text())
    assert committed == json_schema(), "run `nightshift schema > schema/nightshift.schema.json`"


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize(
    "path",
    [ROOT / "nightshift.toml", *sorted(ROOT.glob("docs/examples/*/nightshift.toml"))],
    ids=lambda path: path.parent.name,
)
def test_the_committed_configurations_pass_both(path: Path) -> None:
    assert accepted_by_schema(path.read_text())
    config = load_config(path).config
    assert config.line or config.table


@pytest.mark.parametrize(
    "text",
    [
        "nght = 1",
        "[nght]",
        "[night]\nreptitions = 3",
        "[night]\nrepetitions = '3'",
        "[night]\nrepetitions = 3.5",
        "[night]\nrepetitions = true",
        "[night]\nrepetitions = 0",
        "[[night]]",
        "[line]\nname = 'x'\ntarget = 'postgres'",
        "[[line]]\ntarget = 'postgres'",
        "[[line]]\nname = 'a b'\ntarget = 'postgres'",
        "[[line]]\nname = 'a'\ntarget = 'postgres'\nsince = 'v1'",
        "[[line]]\nname = 'a'\ntarget = 'postgres'\nsince = 17",
        "[[line]]\nname = 'a'\ntarget = 'postgres'\ntake = 'some'",
        "[[workload]]\nname = 'w'\nmeasure = 15",
        "[[workload]]\nname = 'w'\nmeasure = '15'",
        "[[workload]]\nname = 'w'\nmeasure = '15 minutes'",
        "[[workload]]\nname = 'w'\nwarmup = '-1s'",
        "[[workload]]\nname = 'w'\nsteps = 'scan'",
        "[[workload]]\nname = 'w'\nsteps = []",
        "[[workload]]\nname = 'w'\nclients = [0]",
        "[[workload]]\nname = 'w'\nrows = 10",
        "[machine]\npin = 1",
        "[machine]\nport = 70000",
        "[detect]\nmin_effect = 0.03",
        "[detect]\nmin_effect = '3'",
        "[detect]\nalarms_per_1000 = 100",
        "[report]\nworse = 1.5",
        "[report]\nbetter = 0.5",
        "[report]\nworse_colour = 'pink'",
        "[report]\nfurther = [[0.5]]",
        "[report]\nfurther = [[0, 'red']]",
        "[report]\nfurther = [[0.5, 'pink']]",
        "[notify]\nsinks = ['mail']",
        "[quick]\nmeasure = 1",
        "[quick]\nsteps = [1]",
        "[store]\nurl = 5",
        "[paths]\nresults = 5",
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(text: str) -> None:
    assert not accepted_by_loader(text)
    assert not accepted_by_schema(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[[workload]]\nname = 'w'\nmeasure = '15m'\nwarmup = '1.5 s'\nclients = [1, 4]",
        "[[line]]\nname = 'a-1.b_c'\ntarget = 'postgres'\nsince = '14'\nuntil = '17.4'",
        "[report]\nworse = 1\nbetter = 1",
        "[report]\nbetween_colour = ''\nfurther = [[0.75, 'red'], [1.1, 'green']]",
        "[paths]\ncache = '~/x'\n[machine]\nclass = 'ccx33'",
    ],
)
def test_the_schema_accepts_what_the_loader_accepts(text: str) -> None:
    assert accepted_by_loader(text)
    assert accepted_by_schema(text)


@pytest.mark.parametrize(("table", "name", "setting"), SETTINGS)
def test_every_setting_is_described_and_its_default_could_be_written(
    table: str, name: str, setting: dict[str, Any]
) -> None:
    assert setting.get("description"), f"{table}.{name}"
    default = setting.get("default")
    if default is not None:
        jsonschema.validate(default, {**setting, "$defs": json_schema()["$defs"]})


@pytest.mark.parametrize("table", ["workload", "quick", "detect"])
def test_a_default_with_a_unit_is_the_one_used(table: str) -> None:
    config = Config.model_validate({"workload": [{"name": "w"}]}, strict=False)
    section = getattr(config, table)
    used = section[0] if isinstance(section, tuple) else section
    compared = 0
    for of, name, setting in SETTINGS:
        if of == table and "pattern" in setting and setting["pattern"].startswith(r"^\d"):
            parse = parse_percent if "%" in setting["pattern"] else parse_duration
            assert parse(setting["default"]) == pytest.approx(getattr(used, name))
            compared += 1
    assert compared == {"workload": 2, "quick": 2, "detect": 3}[table]


def test_the_documentation_lists_every_setting_with_its_default() -> None:
    text = (ROOT / "docs/reference/configuration.md").read_text()
    sections = dict(re.findall(r"(?ms)^## \[+(\w+)\]+.*?$(.*?)(?=^## |\Z)", text))
    for table, name, setting in SETTINGS:
        row = re.search(rf"(?m)^\| `{name}` \| (.*?) \|", sections[table])
        assert row is not None, f"docs/reference/configuration.md does not describe {table}.{name}"
        default = setting.get("default")
        if default not in (None, "", [], 0):
            shown = json.dumps(default, ensure_ascii=False)
            assert row[1] == f"`{shown}`", f"{table}.{name}"
    named = {(table, name) for table, name, _ in SETTINGS}
    for table, body in sections.items():
        for name in re.findall(r"(?m)^\| `(\w+)` \|", body):
            assert (table, name) in named, f"documented, but no setting: {table}.{name}"
