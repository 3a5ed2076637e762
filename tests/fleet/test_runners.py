"""Runners are registered once, against a fake of GitHub that checks tokens and forgets answers."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator

import pytest

from pipeline.config import Config, FleetSection, GithubSection
from pipeline.fleet.retry import RetryPolicy
from pipeline.fleet.runners import Runners, find_runners
from pipeline.text.errors import UserError
from tests.fakes.github import (
    FakeGithub,
    Fault,
    Repository,
    cut,
    failing,
    primary_limit,
    secondary_limit,
)
from tests.fleet.conftest import Time

TOKEN = "administrator"  # noqa: S105 - of a fake
REPOSITORY = "me/bench"
LABELS = ("self-hosted", "ccx13")


class World:
    """A fake of GitHub, and the runners of its repository as a token sees them."""

    def __init__(self) -> None:
        self.fake, self.time, self.reported = FakeGithub(), Time(), list[str]()
        self.repository: Repository = self.fake.repository(REPOSITORY)
        self.fake.account(TOKEN, "bot[bot]")

    def runners(self, token: str = TOKEN) -> Runners:
        config = Config(
            fleet=FleetSection(), github=GithubSection(repository=REPOSITORY, url=self.fake.url)
        )
        policy = RetryPolicy(600.0, self.reported.append, self.time, self.time.sleep)
        return find_runners(config, policy, {"GITHUB_TOKEN": token})

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.repository.runners.all()]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    with world.fake.serving():
        yield world


def test_a_runner_is_registered_for_one_job_with_its_labels(world: World) -> None:
    reported = json.loads(base64.b64decode(world.runners().register("bench-1", LABELS)))
    (runner,) = world.repository.runners.all()
    assert (runner.name, runner.labels) == ("bench-1", LABELS)
    assert reported["runner"] == runner.id
    assert TOKEN not in json.dumps(reported)


def test_the_program_is_the_one_for_this_system_with_its_checksum(world: World) -> None:
    found = world.runners().program()
    assert found.url.endswith("actions-runner-linux-x64.tar.gz")
    assert found.sha256 == hashlib.sha256(b"linux-x64").hexdigest()


@pytest.mark.parametrize(
    "fault",
    [
        failing(),
        failing(503),
        failing(done=True),
        cut(),
        cut(done=True),
        secondary_limit(),
        secondary_limit(None),
        secondary_limit(status=429),
        primary_limit(1_800_000_000),
    ],
    ids=lambda fault: f"{fault.status}-{fault.done}-{len(fault.headers)}",
)
def test_what_goes_wrong_for_a_while_registers_one_runner(world: World, fault: Fault) -> None:
    world.fake.faults += [fault, fault]
    config = world.runners().register("bench-1", LABELS)
    # Of what was registered without an answer nothing is left, and the configuration is good.
    (runner,) = world.repository.runners.all()
    assert json.loads(base64.b64decode(config))["runner"] == runner.id
    assert world.time.at > Time().at


def test_only_the_runners_of_a_night_are_removed(world: World) -> None:
    for number in range(120):
        world.repository.add_runner(f"night-a-{number}", LABELS)
    world.repository.add_runner("night-b-1", LABELS)
    assert world.runners().remove("night-a-") == 120
    assert world.names == ["night-b-1"]


def test_who_is_registered_and_not_connected_is_silent(world: World) -> None:
    for number in range(120):
        world.repository.add_runner(f"away-{number}", LABELS)
    world.repository.add_runner("there", LABELS, "online")
    assert world.runners().silent() == {f"away-{number}" for number in range(120)}


@pytest.mark.parametrize("permission", ["read", "none"])
def test_a_weak_token_is_one_line_that_does_not_show_it(world: World, permission: str) -> None:
    world.fake.account("weak", "weak[bot]", {"administration": permission})
    with pytest.raises(
        UserError, match="set GITHUB_TOKEN to a token with the permission"
    ) as caught:
        world.runners("weak").register("bench-1", LABELS)
    assert "weak" not in str(caught.value)
    assert not world.names


@pytest.mark.parametrize("token", ["", " ", "two\nlines", "umläut"])
def test_no_token_is_one_line(world: World, token: str) -> None:
    with pytest.raises(
        UserError,
        match=r"GITHUB_TOKEN .*runner_secret.* holds no token",
    ):
        world.runners(token)


@pytest.mark.parametrize("status", [301, 307])
def test_a_repository_that_was_renamed_is_one_line(world: World, status: int) -> None:
    world.fake.faults += [failing(status)] * 3
    for ask in (
        world.runners().program,
        lambda: world.runners().register("bench-1", LABELS),
        lambda: world.runners().remove("bench-"),
    ):
        with pytest.raises(
            UserError, match="me/bench was renamed; set repository in \\[github\\] to the new name"
        ):
            ask()


def test_no_repository_is_one_line() -> None:
    with pytest.raises(
        UserError,
        match=(
            "\\[github\\] repository is empty: the servers need a repository to register "
            "runners; set it, for example to me/bench"
        ),
    ):
        find_runners(Config(), RetryPolicy(1.0), {"GITHUB_TOKEN": TOKEN})
