"""Nights by the script of their jobs, with Terraform in the loop: nothing outlives its time.

In a history the job provision is killed at any request or has trouble with the cloud, teardown
follows or does not, has trouble of its own or is killed, and the reaper comes when its time has
come, also in the midst of an apply. All clocks but Terraform's are the test's.

NIGHTSHIFT_HISTORIES is how many histories are lived through, NIGHTSHIFT_FIRST_HISTORY the seed of
the first.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pipeline.fleet.quote import QuoteRefusedError
from tests.fakes.hetzner.refused import Refused
from tests.fakes.hetzner.server import Cut, Handler
from tests.fleet.test_histories import LONGEST, MINUTE, PERIOD, History
from tests.fleet.trouble import Stage, staged, without_disk
from tests.real.infra.night import Nights
from tests.real.infra.terraform import Terraform
from tests.s3 import S3

HISTORIES = int(os.environ.get("NIGHTSHIFT_HISTORIES", "4"))
FIRST = int(os.environ.get("NIGHTSHIFT_FIRST_HISTORY", "0"))

REFUSED = {
    "503": (503, "unavailable"),
    "500": (500, "server_error"),
    "sold-out": (412, "resource_unavailable"),
    "limit": (403, "resource_limit_exceeded"),
    "forbidden": (403, "forbidden"),
    "taken": (409, "uniqueness_error"),
}
"""Answers that Terraform's provider does not ask for again, so that no test waits."""


class _Meddled(Handler):
    """A request of Terraform, which its history may meddle with."""

    def answered(
        self, path: str, query: Mapping[str, list[str]], body: Any, token: str
    ) -> tuple[int, Any]:
        story: Night = self.server.story  # type: ignore[attr-defined]
        way = story.event()
        if way == "cut":
            raise Cut
        if way in REFUSED:
            raise Refused(*REFUSED[way], "injected")
        answer = super().answered(path, query, body, token)
        if way == "late":
            raise Cut
        if way == "fails" and isinstance(answer[1], dict) and answer[1].get("action"):
            story.project.fail(answer[1]["action"], "unknown_error")
        if way == "killed-after":
            story.kill()
            raise Cut
        return answer


class Night(History):
    """One random history of a night or two."""

    def __init__(self, stage: Stage, seed: int, nights: Nights) -> None:
        super().__init__(stage, seed)
        self.nights, self.seed = nights, seed
        self.process_group, self.killed, self.said = 0, False, ""
        self.events, self.ways, self.slow = 0, dict[int, str](), 0.0
        stage.fake.story = self  # type: ignore[attr-defined]
        stage.fake.RequestHandlerClass = _Meddled

    # --- what a job's script meets ---

    def event(self) -> str:
        """Let time pass for a request or a verb; return what goes wrong with it."""
        self.events += 1
        if self.slow:
            self.pass_time(self.chance.uniform(0, self.slow))
        way = self.ways.get(self.events, "")
        if way == "killed-before":
            self.kill()
            raise Cut
        return way

    def kill(self) -> None:
        """Kill the job, with all that it began."""
        self.killed = True
        while not self.process_group:
            time.sleep(0.01)
        os.killpg(self.process_group, signal.SIGKILL)

    def verb(self, words: list[str]) -> int:
        """Do what ``nightshift`` does; its exit code, below 0 where it was killed."""
        with self.stage.fake.lock:
            try:
                way = self.event()
            except Cut:
                return -1
            given = dict(pairwise(words))
            code: int | None = 2

            def done(fleet: Any) -> int:
                match words[1]:
                    case "quote":
                        return self._quote(fleet, given)
                    case "ready":
                        fleet.ready(words[2])
                    case "status":
                        fleet.status()
                    case "down":
                        return 2 if fleet.down(words[2]).left else 0
                    case other:
                        raise AssertionError(other)
                return 0

            troubled = bool(self.ways) and self.chance.random() < 0.2
            if way not in ("cut", *REFUSED):
                code = self.process(done, troubled)
            if way == "killed-after":
                self.kill()
                return -1
            return 2 if code is None else code

    def _quote(self, fleet: Any, given: Mapping[str, str]) -> int:
        life = self.chance.uniform(5 * MINUTE, LONGEST)
        try:
            asked = fleet.gate(given["--night"], {"ccx13": 60.0}, life)
        except QuoteRefusedError:
            return 1
        ordered = fleet.order(asked, given["--night"], life, int(given["--attempt"]))
        ordered.write(Path(given["--variables"]))
        if self.chance.random() < 0.15:
            self.stage.registry.lost = set(self.stage.registry.runners)
        return 0

    def job(self, job: str, night: str, troubled: bool) -> None:
        """Run the script of a job."""
        self.events, self.killed, self.ways = 0, False, {}
        self.slow = self.chance.choice([0.0, 1.0, 20.0])
        self.stage.registry.lost = set()
        if troubled:
            for _ in range(self.chance.randint(0, 3)):
                way = self.chance.choice(["cut", "late", "fails", *REFUSED])
                self.ways[self.chance.randint(1, 40)] = way
            if self.chance.random() < 0.5:
                way = self.chance.choice(["killed-before", "killed-after"])
                self.ways[self.chance.randint(1, 40)] = way
        with self.nights.begun(job, night, self.stage.fake, self.verb) as process:
            self.process_group = process.pid
            self.said, _ = process.communicate(timeout=600)
        assert not list(self.nights.temp.glob("*.tfvars.json")) or self.killed
        self.process_group, self.ways = 0, {}
        # GitHub empties the folder between two jobs.
        for left in self.nights.temp.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()

    # --- what happens ---

    def live(self) -> None:
        """Live through a night or two, and to the end of all that they made."""
        for number in range(self.chance.randint(1, 2)):
            night = f"{self.seed}-{number}"
            troubled = self.chance.random() < 0.7
            self.job("provision", night, troubled)
            if not troubled and not self.stage.registry.lost:
                mine = self.stage.fake.project.named("servers")
                assert len([each for each in mine if f"-{night}-" in each]) == 2, self.said
            if self.chance.random() < 0.3:
                self.delete_by_hand()
            self.pass_time(self.chance.choice([0.0, 1.0, 1.0]) * self.chance.uniform(0, LONGEST))
            while self.chance.random() < 0.8:
                troubled = self.chance.random() < 0.5
                self.job("teardown", night, troubled)
                if not troubled:
                    self.over(night)
                    break
                self.pass_time(self.chance.uniform(0, PERIOD))
        self.reaper_suffers = False
        self.pass_time(LONGEST + 2 * PERIOD)
        self.check()
        assert not self.stage.left, self.stage.left

    def over(self, night: str) -> None:
        """After a teardown without trouble nothing of a night is left, and its state is empty."""
        mine = [each for each in self.stage.left if f"-{night}-" in each]
        assert not mine, f"{mine}\n{self.said}"
        state = self.nights.state(night)
        assert not state or json.loads(state)["resources"] == [], self.said
        assert not self.nights.locked(night), self.said
        assert self.stage.billed == pytest.approx(self.bill()), self.said


def test_nothing_outlives_its_time(
    program: Terraform, tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_disk(monkeypatch)
    nights = Nights(program, s3, tmp_path / "nights")
    for seed in range(FIRST, FIRST + HISTORIES):
        folder = tmp_path / "history"
        with staged(folder) as stage, stage.fake.serving():
            # Terraform refuses a night that is over by its own clock, which is the machine's.
            stage.time.at = time.time() + MINUTE
            Night(stage, seed, nights).live()
        shutil.rmtree(folder, ignore_errors=True)
