"""Every call goes wrong once, in each way: nothing of ours is left, and the bill is what ran."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pipeline.fleet.resources import Swept
from tests.fleet import module
from tests.fleet.trouble import PASSING, WAYS, Ask, Killed, Stage, Trouble, staged, without_disk

HOUR, PERIOD = 3600.0, 1800.0
NIGHT = "77"
OLD = {"nightshift": "test", "night": "76", "role": "bench", "expires": "20260228T000000Z"}


class Reporter(NamedTuple):
    """How many calls the verbs made, and whether they came to their ends with all done."""

    up: int
    reap: int
    made: bool
    swept: bool


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    without_disk(monkeypatch)


def story(folder: Path, up: Trouble | None = None, reap: Trouble | None = None) -> Reporter:
    """A night is made, and forgotten; its time passes, and the reaper comes, and comes again.

    Beside it there are resources of an older night, and foreign ones. After the second reaper at
    the latest all that was ours is gone, and the record has what it cost; after the first, if
    that one said that it left nothing.
    """
    with staged(folder) as stage:
        stage.make_by_hand("old", OLD)
        stage.make_by_hand("theirs", {})
        theirs = {name for name in stage.left if name.startswith("theirs")}
        made = stage.through(lambda fleet: module.up(fleet, NIGHT), up)
        first = stage.hands.calls
        assert made is None or len(made) == 2
        stage.time.at += 4 * HOUR
        swept: Swept | None = stage.through(lambda fleet: fleet.reap(), reap)
        second, clean = stage.hands.calls, swept is not None and not swept.left
        assert not clean or set(stage.left) == theirs
        stage.time.at += PERIOD
        last: Swept | None = stage.through(lambda fleet: fleet.reap())
        assert last is not None and not last.left
        assert set(stage.left) == theirs
        check_bill(stage)
        return Reporter(first, second, made is not None, clean)


def check_bill(stage: Stage) -> None:
    """The record has the cost of all servers but those that are not ours."""
    project = stage.fake.project
    foreign = sum(project.cost(each) for each in project.things["servers"].values())
    assert stage.billed == pytest.approx(project.bill() - foreign)
    assert all(life.ended is not None for life in stage.lives())


def wrong(ways: Mapping[int, str]) -> Trouble:
    """Let calls of these numbers go wrong in these ways, if they are of Hetzner Cloud."""

    def trouble(stage: Stage, number: int, cloud: bool, ask: Ask) -> Any:
        way = ways.get(number)
        return WAYS[way](stage.fake.project, ask) if way and cloud else ask()

    return trouble


def kill(last: int, done: bool) -> Trouble:
    """Kill the process in a call, before or after that was ``done``."""

    def trouble(stage: Stage, number: int, cloud: bool, ask: Ask) -> Any:
        del stage, cloud
        if number < last:
            return ask()
        if done:
            ask()
        raise Killed

    return trouble


def test_nothing_goes_wrong(tmp_path: Path) -> None:
    reported = story(tmp_path)
    assert reported.made and reported.swept and reported.up > 15 and reported.reap > 20


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("verb", ["up", "reap"])
def test_each_call_goes_wrong_once(tmp_path: Path, verb: str, way: str) -> None:
    calls = getattr(story(tmp_path / "none"), verb)
    for number in range(1, calls + 1):
        reported = story(tmp_path / str(number), **{verb: wrong({number: way})})
        # Terraform gives up, and the job teardown follows; what deletes waits for what passes.
        if way in PASSING and verb == "reap":
            assert reported.made and reported.swept, f"what passes is waited for: call {number}"


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("verb", ["up", "reap"])
def test_killed_at_each_call(tmp_path: Path, verb: str, done: bool) -> None:
    calls = getattr(story(tmp_path / "none"), verb)
    for number in range(1, calls + 1):
        reported = story(tmp_path / str(number), **{verb: kill(number, done)})
        assert not (reported.made and reported.swept)


@pytest.mark.parametrize("seed", range(10))
def test_two_calls_go_wrong(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    none = story(tmp_path / "none")
    for number in range(20):
        verb = chance.choice(["up", "reap"])
        two = {chance.randint(1, getattr(none, verb) + 5): chance.choice(list(WAYS)) for _ in "ab"}
        story(tmp_path / str(number), **{verb: wrong(two)})
