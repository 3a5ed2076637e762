"""The verbs of the fleet by the command line, against fakes of both services as they are asked."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.fleet.labels import ResourceMark, labels, server_name
from pipeline.storage.bundle import write_bundle
from pipeline.storage.server_log import last_reaped
from pipeline.use_cases import fleet as fleet_cases
from pipeline.use_cases.measuring import MeasuringContext
from tests.cli.conftest import CONFIG, Nightshift, Ran
from tests.cli.measured import write_run
from tests.fakes.github import FakeGithub
from tests.fakes.hetzner import FakeHetzner
from tests.fakes.hetzner.server import TOKEN
from tests.ports import free_port
from tests.storage.bundles import make_run

ADMINISTRATOR = "ghs-secret"

CLASS = """
[[class]]
name = "ccx13"
cores = 2
memory_gb = 8
server_type = "ccx13"
"""
BIG = """
[[class]]
name = "big"
cores = 8
memory_gb = 32
server_type = "ccx33"
"""
BUDGETS = """
[fleet]
locations = ["hel1", "fsn1"]
per_night = "1 EUR"
per_month = "2 EUR"
"""


class World:
    """Both fakes."""

    def __init__(self, hetzner: FakeHetzner, github: FakeGithub) -> None:
        self.hetzner, self.github = hetzner, github
        self.repository = github.repository("me/bench")
        github.account(ADMINISTRATOR, "bench[bot]")

    @property
    def runners(self) -> list[str]:
        return [each.name for each in self.repository.runners.all()]

    def create(self, file: Path) -> str:
        """Create the one server of a night that its variables say, as Terraform does."""
        ordered = json.loads(file.read_text())
        ((name, servers),) = ordered["classes"].items()
        expires = datetime.fromisoformat(ordered["expires"])
        mark = ResourceMark(night=ordered["night"], machine_class=name, expires=expires)
        body = {
            "name": server_name("nightshift", ordered["night"], name, 1),
            "server_type": servers["server_type"],
            "location": servers["location"],
            "image": ordered["image"],
            "labels": labels("nightshift", mark),
            "user_data": json.dumps(ordered["runner_configurations"]),
        }
        self.hetzner.project.make("servers", body)
        return str(body["name"])


@pytest.fixture
def world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    hetzner, github = FakeHetzner(), FakeGithub()
    # Nothing is waited for: what is asked for the first time has come true.
    hetzner.project.polls = 0
    with hetzner.serving(), github.serving():
        monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
        monkeypatch.setenv("HCLOUD_ENDPOINT", hetzner.url)
        monkeypatch.setenv("GITHUB_TOKEN", ADMINISTRATOR)
        about = f'[github]\nrepository = "me/bench"\nurl = "{github.url}"\n'
        (folder / "nightshift.toml").write_text(CONFIG + about + BUDGETS + CLASS)
        yield World(hetzner, github)


@pytest.fixture
def variables(folder: Path) -> Path:
    return folder / "night.tfvars.json"


def quote_night(nightshift: Nightshift, file: Path, *more: str) -> Ran:
    """Quote a night, and write the variables of its servers."""
    return nightshift("fleet", "quote", "--night", "77", "--variables", str(file), *more)


def test_a_night_from_its_quote_to_its_end(
    nightshift: Nightshift, world: World, variables: Path
) -> None:
    quoted = nightshift("fleet", "quote")
    assert quoted.code == 0
    costs = [
        "ccx13: 1 x ccx13 in hel1 (or ccx13 in fsn1), 8 h at up to 0.0250 EUR: 0.20 EUR",
        "a night costs up to 0.20 EUR of 1.00 EUR",
        "this month so far: 0.00 EUR of 2.00 EUR",
    ]
    assert quoted.out.splitlines() == costs
    ordered = quote_night(nightshift, variables)
    assert ordered.code == 0, ordered.err
    first, *others = ordered.out.splitlines()
    assert re.fullmatch(re.escape(costs[0]) + r"; steps of about \S+", first)
    assert others == costs[1:]
    name = world.create(variables)
    assert world.runners == [f"{name}-1", f"{name}-2"]
    ready = nightshift("fleet", "ready", "77")
    assert (ready.code, ready.out) == (0, f"{name}\n"), ready.err
    status = nightshift("fleet", "status")
    first, last = status.out.splitlines()
    assert re.fullmatch(
        rf"{name}  ccx13 in hel1  ccx13  night 77  .* old, 0\.02 EUR, (7h5\dm|8h00m) left",
        first,
    )
    assert last == "1 server; this month so far: 0.02 EUR of 2.00 EUR"
    assert nightshift("fleet", "reap").out == ""
    reaped = last_reaped(Path("results"))
    assert reaped is not None and datetime.now(UTC) - reaped < timedelta(minutes=1)
    down = nightshift("fleet", "down", "77")
    assert down.code == 0
    assert down.out.splitlines()[0] == f"deleted server {name}"
    assert not world.hetzner.project.things["servers"] and not world.runners
    assert nightshift("fleet", "down", "77").out == ""
    found = json.loads(nightshift("fleet", "status", "--format", "json").out)
    assert found["servers"] == [] and found["month"][0] == pytest.approx(0.02499)


def test_what_nights_cost_is_reported_without_a_token(
    nightshift: Nightshift,
    world: World,
    folder: Path,
    variables: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert nightshift("fleet", "costs").out == "no server was rented\n"
    assert quote_night(nightshift, variables).code == 0
    name = world.create(variables)
    assert nightshift("fleet", "status").code == 0
    (server,) = world.hetzner.project.things["servers"].values()
    made = datetime.fromtimestamp(server["made_at"], UTC)
    for minor in (1, 2):
        head, files = make_run(minor)
        took = timedelta(seconds=0.001 * minor)
        at: dict[str, object] = {"started_at": made, "ended_at": made + took}
        at["machine"] = head.machine.model_copy(update={"hostname": name})
        write_bundle(folder / "results" / "bundles", head.model_copy(update=at), files)
    monkeypatch.delenv("HCLOUD_TOKEN")
    assert nightshift("ingest").code == 0
    assert nightshift("fleet", "costs").out.splitlines() == [
        "night 77: 1 server, 1 h, 0.02 EUR; 2 runs in 0.0s, 0.0125 EUR each",
        "0.02 EUR in all, 0.00 EUR of it for servers that measured nothing",
    ]
    costs = json.loads(nightshift("fleet", "costs", "--format", "json").out)
    assert [run["cost"] for run in costs["runs"]] == pytest.approx([0.00833, 0.01666])
    assert costs["cost"] == pytest.approx(0.02499) and costs["regressions"] == []


def test_no_token_is_reported(
    nightshift: Nightshift, world: World, folder: Path, variables: Path
) -> None:
    quoted = quote_night(nightshift, variables)
    world.create(variables)
    printed = [
        quoted,
        *(
            nightshift("fleet", *words)
            for words in (("quote",), ("status",), ("down", "77"), ("reap",))
        ),
    ]
    text = "".join(ran.out + ran.err for ran in printed)
    configurations = json.loads(variables.read_text())["runner_configurations"]["ccx13"][0]
    assert len(configurations) == 2 and not any(each in text for each in configurations)
    text += (folder / "results/fleet.jsonl").read_text() + variables.read_text()
    text += "".join(world.hetzner.project.user_data.values())
    assert TOKEN not in text and ADMINISTRATOR not in text
    assert "e2WDDDN7nTc3" not in text, "nor root's password"


@pytest.mark.parametrize("night", [(), ("--night", "77")])
def test_over_budget_the_quote_says_so_and_ends_with_1(
    nightshift: Nightshift, world: World, night: tuple[str, ...]
) -> None:
    ran = nightshift("fleet", "quote", *night, "--ttl", "48h")
    assert ran.code == 1
    assert re.fullmatch(r"nightshift: 1 server for 48 h cost .*; no server is created\n", ran.err)
    assert not world.runners


def test_without_a_budget_a_quote_has_prices_and_a_night_is_an_error(
    nightshift: Nightshift, world: World, folder: Path, variables: Path
) -> None:
    text = (folder / "nightshift.toml").read_text()
    (folder / "nightshift.toml").write_text(text.replace('per_night = "1 EUR"', ""))
    quoted = nightshift("fleet", "quote")
    assert quoted.code == 0 and "a night costs up to 0.20 EUR (no budget is set)" in quoted.out
    ran = quote_night(nightshift, variables)
    assert ran.code == 2 and "per_night is not set" in ran.err
    assert not variables.exists() and not world.runners


def test_only_what_is_due_has_servers(
    nightshift: Nightshift, world: World, folder: Path, variables: Path
) -> None:
    text = (folder / "nightshift.toml").read_text()
    (folder / "nightshift.toml").write_text(text + BIG)
    context = MeasuringContext(folder / "nightshift.toml")
    for due in ("ccx13", ""):
        for cell, repetition in context.plan().of_class("big" if due else "ccx13").remaining(()):
            write_run(context, cell, repetition)
        assert nightshift("ingest").code == 0
        variables.unlink(missing_ok=True)
        ran = quote_night(nightshift, variables, "--format", "json")
        assert ran.code == 0, ran.err
        classes = [each["machine_class"] for each in ran.json["server_requests"]]
        assert classes == ([due] if due else [])
        assert variables.exists() == bool(due)
    assert len(world.runners) == 2
    none = quote_night(nightshift, variables)
    assert none.out.splitlines()[0] == "nothing is due on a cloud server, so the night needs none"


def test_a_cloud_that_is_not_there_is_one_line_within_seconds(
    nightshift: Nightshift, world: World, monkeypatch: pytest.MonkeyPatch, variables: Path
) -> None:
    monkeypatch.setenv("HCLOUD_ENDPOINT", f"http://127.0.0.1:{free_port()}/v1")
    began = time.monotonic()
    ran = quote_night(nightshift, variables)
    assert time.monotonic() - began < 10
    assert ran.code == 2 and not world.runners and not variables.exists()
    assert ran.err.splitlines()[-1].startswith("nightshift: Hetzner Cloud does not respond")


def test_a_cloud_that_swallows_requests_is_one_line_within_seconds(
    nightshift: Nightshift, world: World, monkeypatch: pytest.MonkeyPatch, variables: Path
) -> None:
    """It is asked before anything is computed, so that the time is that of the one request."""
    monkeypatch.setattr(fleet_cases, "due_work", lambda _: pytest.fail("the plan was made first"))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HCLOUD_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        began = time.monotonic()
        ran = quote_night(nightshift, variables)
        assert time.monotonic() - began < 10
    assert ran.code == 2 and not variables.exists()
    assert ran.err.splitlines()[-1].startswith("nightshift: Hetzner Cloud does not respond")


def test_a_file_of_variables_is_of_a_night(nightshift: Nightshift, world: World) -> None:
    ran = nightshift("fleet", "quote", "--variables", "night.tfvars.json")
    assert (ran.code, ran.err) == (
        2,
        "nightshift: --variables needs --night, the name of the night whose servers it writes\n",
    )


def test_what_could_not_be_deleted_is_an_error(
    nightshift: Nightshift, world: World, variables: Path
) -> None:
    quote_night(nightshift, variables)
    world.create(variables)
    (server,) = world.hetzner.project.things["servers"].values()
    server["protection"]["delete"] = True
    # Nothing else of the night is there that is waited for.
    world.hetzner.project.things["firewalls"].clear()
    ran = nightshift("fleet", "down", "77", "--format", "json")
    assert ran.code == 2
    assert len(json.loads(ran.out)["left"]) == 1
    assert ran.err.splitlines()[-1].startswith("nightshift: 1 resource could not be deleted")


def test_without_servers_for_nights_there_is_nothing_to_do(
    nightshift: Nightshift, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HCLOUD_TOKEN", "GITHUB_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    (folder / "nightshift.toml").write_text(CONFIG + CLASS.replace('server_type = "ccx13"', ""))
    for words in (("quote", "--night", "77"), ("down", "77"), ("reap",)):
        ran = nightshift("fleet", *words)
        assert (ran.code, ran.out) == (0, "")
        assert "no [[class]] has a server_type" in ran.err


@pytest.mark.parametrize("variable", ["HCLOUD_TOKEN", "GITHUB_TOKEN"])
def test_a_missing_token_is_one_line(
    nightshift: Nightshift,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    variables: Path,
    variable: str,
) -> None:
    monkeypatch.setenv(variable, "")
    ran = quote_night(nightshift, variables)
    assert ran.code == 2 and variable in ran.err
    assert not variables.exists()


def test_the_token_is_not_sent_where_it_can_be_read(
    nightshift: Nightshift, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HCLOUD_ENDPOINT", "http://hetzner.example/v1")
    ran = nightshift("fleet", "status")
    assert ran.code == 2 and "use https" in ran.err
