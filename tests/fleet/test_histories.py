"""Nothing outlives its time to live by more than one reaper period, whatever happened.

A history is made of verbs in any order, each a process of its own with a clock of its own, that is
killed, answered late, refused or slowed down; of what people do to the project meanwhile; and of a
reaper that comes when its time has come, also while others are at work, and has trouble of its own.
"""

from __future__ import annotations

import copy
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.fleet.fleet import Fleet
from pipeline.fleet.labels import Malformed, ResourceMark, read_mark
from pipeline.fleet.resources import Swept
from tests.fakes.hetzner.project import KINDS, Thing
from tests.fleet.module import up
from tests.fleet.trouble import (
    PASSING,
    WAYS,
    WISHES,
    Ask,
    Killed,
    Stage,
    Trouble,
    staged,
    without_disk,
)

MINUTE = 60.0
PERIOD = 30 * MINUTE
SKEW = 90.0
"""Seconds that a process' clock goes before or after that of Hetzner Cloud, at most."""
LONGEST = 50 * MINUTE
"""A night's time to live, at most."""
DELETING = 5 * MINUTE
"""What deleting takes, where a call is asked again and every answer is slow."""

IN_SUITE = 100
"""Histories of `make test`; tests/slow/test_histories.py lives through ten thousand."""


class History:
    """One random history."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self.stage, self.chance = stage, random.Random(seed)
        self.project = stage.fake.project
        self.next_reap = stage.time.at + self.chance.uniform(0, PERIOD)
        self.missed, self.most_missed, self.reaping = 0, 0, False
        self.reaper_suffers = self.chance.random() < 0.5
        self.theirs: dict[tuple[str, int], Thing] = {}
        stage.fake.blind = self.chance.random() < 0.3
        stage.time.sleep = self.pass_time  # type: ignore[method-assign]

    # --- time, and the reaper in it ---

    def pass_time(self, seconds: float) -> None:
        """Let time pass; the reaper comes in the midst of whatever goes on."""
        until = self.stage.time.at + seconds
        while not self.reaping and self.next_reap <= until:
            self.stage.time.at = max(self.stage.time.at, self.next_reap)
            self.next_reap += PERIOD
            self.reap()
        self.stage.time.at = max(self.stage.time.at, until)

    def reap(self) -> None:
        self.reaping = True
        others = self.stage.hands
        troubled = self.reaper_suffers and self.chance.random() < 0.4
        before = self.alive()
        swept: Swept | None = self.process(lambda fleet: fleet.reap(), troubled)
        # Its clock may have gone before by so much.
        too_soon = [name for name, until in before.items() if until > self.stage.time.at + SKEW]
        assert set(too_soon) <= set(self.alive()), "what lives is left alone"
        self.stage.hands = self.stage.github.hands = others
        self.reaping = False
        done = swept is not None and not [each for each in swept.left if "odd" not in each]
        self.missed = 0 if done else self.missed + 1
        self.most_missed = max(self.most_missed, self.missed)
        if not troubled:
            assert done, swept

    def alive(self) -> dict[str, float]:
        """Return until when what is ours lives, by name, without what is being deleted."""
        return {
            thing["name"]: expires
            for things in self.project.things.values()
            for thing in things.values()
            if (expires := expiry(thing)) is not None and thing.get("status") != "deleting"
        }

    # --- processes ---

    def process(self, verb: Callable[[Fleet], Any], troubled: bool) -> Any:
        self.stage.skew = self.chance.uniform(-SKEW, SKEW)
        return self.stage.through(verb, self.trouble(troubled))

    def trouble(self, troubled: bool) -> Trouble:
        """Slow answers and, where there is trouble, a few calls that go wrong, or a death."""
        slow = self.chance.choice([0.0, 0.0, 0.1, 3.0])
        wrong: dict[int, str] = {}
        last, done = 0, self.chance.random() < 0.5
        if troubled:
            if self.chance.random() < 0.5:
                last = self.chance.randint(1, 40)
            ways = list(self.chance.choice([PASSING, WAYS]))
            for _ in range(self.chance.randint(0, 3)):
                wrong[self.chance.randint(1, 40)] = self.chance.choice(ways)

        def trouble(stage: Stage, number: int, cloud: bool, ask: Ask) -> Any:
            if slow:
                self.pass_time(self.chance.uniform(0, slow))
            if number == last:
                if done:
                    ask()
                raise Killed
            way = wrong.get(number)
            return WAYS[way](stage.fake.project, ask) if way and cloud else ask()

        return trouble

    # --- what happens ---

    def step(self) -> None:
        """Let something happen."""
        night = self.chance.choice(["1", "2", "3"])
        match self.chance.choice(["up", "up", "up", "down", "wait", "wait", "people", "people"]):
            case "up":
                seconds = self.chance.uniform(5 * MINUTE, LONGEST)
                self.process(lambda fleet: up(fleet, night, seconds), self.chance.random() < 0.6)
            case "down":
                self.process(lambda fleet: fleet.down(night), self.chance.random() < 0.6)
            case "wait":
                self.pass_time(self.chance.uniform(0, LONGEST))
            case _:
                self.people()

    def people(self) -> None:
        """Let somebody do something by hand."""
        kind = self.chance.choice(KINDS)
        now = datetime.fromtimestamp(self.stage.time.at, UTC)
        expires = now + timedelta(seconds=self.chance.uniform(-LONGEST, LONGEST))
        stamp = f"{expires:%Y%m%dT%H%M%SZ}"
        ours = {"nightshift": "test", "night": "9", "role": "bench", "expires": stamp}
        match self.chance.choice(["ours", "theirs", "odd", "protected", "delete", "none there"]):
            case "ours":
                self.make("hand", kind, ours)
            case "theirs":
                old = {**ours, "expires": "20200101T000000Z"}
                foreign: list[dict[str, str]] = [
                    {},
                    {**old, "nightshift": "other"},
                    {**old, "nightshift": "Test"},
                    {**old, "role": "hub"},
                    {key: value for key, value in old.items() if key != "nightshift"},
                ]
                self.keep(kind, self.make("theirs", kind, self.chance.choice(foreign)))
            case "odd":
                without = {key: value for key, value in ours.items() if key != "expires"}
                self.keep(kind, self.make("odd", kind, without))
            case "protected":
                if "protection" in (thing := self.make("odd-protected", kind, ours)):
                    thing["protection"]["delete"] = True
            case "delete":
                self.delete_by_hand()
            case _:
                self.project.sold_out = {("ccx13", self.chance.choice(["fsn1", "hel1"]))}

    def make(self, name: str, kind: str, labels: dict[str, str]) -> Thing:
        number = self.chance.randrange(10**9)
        called = f"{name}-{kind.replace('_', '-')}-{number}"
        thing, _ = self.project.make(kind, {"name": called, "labels": labels, **WISHES[kind]})
        return thing

    def keep(self, kind: str, thing: Thing) -> None:
        """Remember what must stay as it is."""
        for _ in range(3):
            self.project.tick()
        self.theirs[kind, thing["id"]] = copy.deepcopy(thing)

    def delete_by_hand(self) -> None:
        """Delete a server that the record knows; of others nobody can know what they cost."""
        known = [life.rent.number for life in self.stage.lives() if life.ended is None]
        there = [each for each in known if each in self.project.things["servers"]]
        if there:
            with suppress(Exception):
                self.project.delete("servers", self.chance.choice(there))

    # --- what must be so ---

    def check(self) -> None:
        """Nothing lived too long, nothing of others was touched, and the bill is right."""
        for (kind, number), thing in self.theirs.items():
            assert self.project.things[kind][number] == thing
        longest = PERIOD * (1 + self.most_missed) + 2 * SKEW + DELETING
        for server in self.project.past:
            if (expires := expiry(server)) is not None:
                assert server["deleted_at"] - expires <= longest, server["name"]
        for things in self.project.things.values():
            for thing in things.values():
                if (expires := expiry(thing)) is not None:
                    assert self.stage.time.at - expires <= longest, thing["name"]
        assert self.stage.billed == pytest.approx(self.bill())

    def bill(self) -> float:
        """What the servers cost that are the pipeline's, and say until when they live.

        Where prices are refused to a reaper again and again it deletes a server all the same that
        the record does not have, and says so.
        """
        known = {life.rent.number for life in self.stage.lives()}
        servers = (*self.project.past, *self.project.things["servers"].values())
        ours = [each for each in servers if mark(each) is not None]
        if any(each["id"] not in known for each in ours):
            assert any(
                "the record of servers is incomplete" in line for line in self.stage.reported
            )
        return sum(self.project.cost(each) for each in ours if each["id"] in known)


def mark(thing: Thing) -> ResourceMark | None:
    try:
        return read_mark("test", thing["labels"])
    except Malformed:
        return None


def expiry(thing: Thing) -> float | None:
    """Return until when something of ours lives that can be deleted."""
    found = mark(thing)
    protected = thing.get("protection", {}).get("delete")
    if found is None or protected:
        return None
    # What somebody made too late to live at all begins to be in the way when it is there.
    made = datetime.fromisoformat(thing["created"])
    return max(found.expires, made).timestamp()


def live(folder: Path, seed: int) -> int:
    """Live through a history, and to the end of all that it made; return how many calls it took."""
    with staged(folder) as stage:
        history = History(stage, seed)
        for _ in range(history.chance.randint(3, 9)):
            history.step()
        history.reaper_suffers = False
        history.pass_time(LONGEST + 2 * PERIOD)
        history.check()
        left = [thing for things in history.project.things.values() for thing in things.values()]
        assert not [thing["name"] for thing in left if expiry(thing) is not None]
        return len(stage.fake.asked)


def live_all(folder: Path, seeds: range) -> None:
    """Live through the histories of these seeds, and keep nothing of them."""
    for seed in seeds:
        live(folder / "one", seed)
        shutil.rmtree(folder / "one", ignore_errors=True)


@pytest.mark.parametrize("part", range(10))
def test_nothing_outlives_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    without_disk(monkeypatch)
    live_all(tmp_path, range(part * IN_SUITE // 10, (part + 1) * IN_SUITE // 10))
