"""The verbs of the fleet by the command line, against fakes of both services as they are asked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.storage.bundle import write_bundle
from pipeline.storage.server_log import last_reaped
from tests.cli.conftest import Nightshift
from tests.fakes.github import FakeGithub
from tests.fakes.hetzner import FakeHetzner
from tests.fakes.hetzner.server import TOKEN
from tests.storage.bundles import make_run

ADMINISTRATOR = "ghs-secret"

CLASS = """
[[class]]
name = "ccx13"
cores = 2
memory_gb = 8
server_type = "ccx13"
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
        (folder / "nightshift.toml").write_text(about + BUDGETS + CLASS)
        yield World(hetzner, github)


def test_a_night_up_and_down(nightshift: Nightshift, world: World) -> None:
    quoted = nightshift("fleet", "quote")
    assert quoted.code == 0
    assert quoted.out.splitlines() == [
        "ccx13: 1 x ccx13 in hel1 (or ccx13 in fsn1), 8 h at up to 0.0250 EUR: 0.20 EUR",
        "a night costs up to 0.20 EUR of 1.00 EUR",
        "this month so far: 0.00 EUR of 2.00 EUR",
    ]
    up = nightshift("fleet", "up", "77")
    assert up.code == 0, up.err
    (name,) = up.out.split()
    assert world.runners == [f"{name}-1", f"{name}-2"]
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
    nightshift: Nightshift, world: World, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert nightshift("fleet", "costs").out == "no server was rented\n"
    (name,) = nightshift("fleet", "up", "77").out.split()
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


def test_no_token_is_reported(nightshift: Nightshift, world: World, folder: Path) -> None:
    printed = [
        nightshift("fleet", *words)
        for words in (("quote",), ("up", "77"), ("status",), ("down", "77"), ("reap",))
    ]
    text = "".join(ran.out + ran.err for ran in printed)
    text += (folder / "results/fleet.jsonl").read_text()
    text += "".join(world.hetzner.project.user_data.values())
    assert TOKEN not in text and ADMINISTRATOR not in text
    assert "e2WDDDN7nTc3" not in text, "nor root's password"


def test_over_budget_is_one_line(nightshift: Nightshift, world: World) -> None:
    ran = nightshift("fleet", "up", "77", "--ttl", "48h")
    assert ran.code == 2
    assert re.fullmatch(r"nightshift: 1 server for 48 h cost .*; no server was created\n", ran.err)
    assert not world.hetzner.project.things["servers"]


def test_what_could_not_be_deleted_is_an_error(nightshift: Nightshift, world: World) -> None:
    nightshift("fleet", "up", "77")
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
    (folder / "nightshift.toml").write_text(CLASS.replace('server_type = "ccx13"', ""))
    for words in (("up", "77"), ("down", "77"), ("reap",)):
        ran = nightshift("fleet", *words)
        assert (ran.code, ran.out) == (0, "")
        assert "no [[class]] has a server_type" in ran.err


@pytest.mark.parametrize("variable", ["HCLOUD_TOKEN", "GITHUB_TOKEN"])
def test_a_missing_token_is_one_line(
    nightshift: Nightshift, world: World, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "")
    ran = nightshift("fleet", "up", "77")
    assert ran.code == 2 and variable in ran.err
    assert not world.hetzner.project.things["servers"]


def test_the_token_is_not_sent_where_it_can_be_read(
    nightshift: Nightshift, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HCLOUD_ENDPOINT", "http://hetzner.example/v1")
    ran = nightshift("fleet", "status")
    assert ran.code == 2 and "use https" in ran.err
