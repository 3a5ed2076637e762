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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from pipeline.fleet.quote import QuoteRefusedError
from tests.fakes.hetzner import Fault
from tests.fakes.hetzner.refused import Refused
from tests.fakes.hetzner.server import Cut, Handler
from tests.fleet.test_histories import LONGEST, MINUTE, PERIOD, History
from tests.fleet.trouble import Stage, staged, without_disk
from tests.real.infra.night import Nights
from tests.real.infra.terraform import Terraform
from tests.s3 import S3

HISTORIES = int(os.environ.get("NIGHTSHIFT_HISTORIES", "4"))
FIRST = int(os.environ.get("NIGHTSHIFT_FIRST_HISTORY", "0"))

NOTHING: Mapping[int, str] = MappingProxyType({})

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
        if way == "cancelled":
            story.kill(signal.SIGTERM)
        return answer


class Night(History):
    """One random history of a night or two."""

    def __init__(self, stage: Stage, seed: int, nights: Nights) -> None:
        super().__init__(stage, seed)
        self.nights, self.seed = nights, seed
        self.process_group, self.killed, self.said = 0, False, ""
        self.events, self.slow = 0, 0.0
        self.ways: Mapping[int, str] = NOTHING
        self.lonely, self.verbs_suffer = 0.0, 0.0
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

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Kill the job, with all that it began."""
        self.killed = True
        while not self.process_group:
            time.sleep(0.01)
        os.killpg(self.process_group, number)

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

            troubled = bool(self.ways) and self.chance.random() < self.verbs_suffer
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
        if self.chance.random() < self.lonely:
            self.stage.registry.lost = set(self.stage.registry.runners)
        return 0

    def some(self) -> dict[int, str]:
        """Return what goes wrong with some requests of a job."""
        ways: dict[int, str] = {}
        for _ in range(self.chance.randint(0, 3)):
            way = self.chance.choice(["cut", "late", "fails", *REFUSED])
            ways[self.chance.randint(1, 40)] = way
        if self.chance.random() < 0.5:
            way = self.chance.choice(["killed-before", "killed-after"])
            ways[self.chance.randint(1, 40)] = way
        return ways

    def job(self, job: str, night: str, ways: Mapping[int, str] = NOTHING) -> None:
        """Run the script of a job, whose requests go wrong in these ways, by number."""
        self.events, self.killed, self.ways = 0, False, ways
        self.stage.registry.lost = set()
        with self.nights.begun(job, night, self.stage.fake, self.verb) as process:
            self.process_group = process.pid
            self.said, _ = process.communicate(timeout=600)
        assert not list(self.nights.temp.glob("*.tfvars.json")) or self.killed
        self.process_group, self.ways = 0, NOTHING
        # GitHub empties the folder between two jobs.
        for left in self.nights.temp.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()

    # --- what happens ---

    def live(self) -> None:
        """Live through a night or two, and to the end of all that they made."""
        self.lonely, self.verbs_suffer = 0.15, 0.2
        for number in range(self.chance.randint(1, 2)):
            night = f"{self.seed}-{number}"
            self.slow = self.chance.choice([0.0, 1.0, 20.0])
            troubled = self.chance.random() < 0.7
            self.job("provision", night, self.some() if troubled else NOTHING)
            if not troubled and not self.stage.registry.lost:
                assert len(self.servers(night)) == 2, self.said
            if self.chance.random() < 0.3:
                self.delete_by_hand()
            self.pass_time(self.chance.choice([0.0, 1.0, 1.0]) * self.chance.uniform(0, LONGEST))
            while self.chance.random() < 0.8:
                troubled = self.chance.random() < 0.5
                self.job("teardown", night, self.some() if troubled else NOTHING)
                if not troubled:
                    self.over(night)
                    break
                self.pass_time(self.chance.uniform(0, PERIOD))
        self.end()

    def end(self) -> None:
        """Let the reaper come once more after everything is past its time."""
        self.reaper_suffers = False
        self.pass_time(LONGEST + 2 * PERIOD)
        self.check()
        assert not self.stage.left, self.stage.left

    def servers(self, night: str) -> list[str]:
        """Return the names of the servers of a night."""
        return [each for each in self.project.named("servers") if f"-{night}-" in each]

    def over(self, night: str) -> None:
        """After a teardown without trouble nothing of a night is left, and its state is empty."""
        mine = [each for each in self.stage.left if f"-{night}-" in each]
        assert not mine, f"{mine}\n{self.said}"
        state = self.nights.state(night)
        assert not state or json.loads(state)["resources"] == [], self.said
        assert not self.nights.locked(night), self.said
        assert self.stage.billed == pytest.approx(self.bill()), self.said


@pytest.fixture
def nights(program: Terraform, tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch) -> Nights:
    without_disk(monkeypatch)
    return Nights(program, s3, tmp_path / "nights")


@contextmanager
def begun(nights: Nights, seed: int) -> Iterator[Night]:
    """Begin a history, with a hub and a cloud of its own."""
    folder = nights.folder / "history"
    with staged(folder) as stage, stage.fake.serving():
        # Terraform refuses a night that is over by its own clock, which is the machine's.
        stage.time.at = time.time() + MINUTE
        yield Night(stage, seed, nights)
    shutil.rmtree(folder, ignore_errors=True)


def test_nothing_outlives_its_time(nights: Nights) -> None:
    for seed in range(FIRST, FIRST + HISTORIES):
        with begun(nights, seed) as night:
            night.live()


def test_a_job_that_dies_at_any_request_is_torn_down(nights: Nights) -> None:
    for number in count(1):
        way = "killed-after" if number % 2 else "killed-before"
        with begun(nights, number) as night:
            night.job("provision", f"{number}", {number: way})
            died = night.killed
            night.job("teardown", f"{number}")
            night.over(f"{number}")
            night.end()
        if not died:
            assert number > 15, "it has more requests"
            return


def test_a_job_that_is_cancelled_is_torn_down(nights: Nights) -> None:
    for number in (5, 12, 17):
        with begun(nights, number) as night:
            night.job("provision", f"{number}", {number: "cancelled"})
            night.job("teardown", f"{number}")
            night.over(f"{number}")


@pytest.mark.parametrize("trouble", ["destroy fails", "the state is lost", "the lock is held"])
def test_what_terraform_does_not_destroy_is_deleted_by_its_labels(
    nights: Nights, trouble: str
) -> None:
    with begun(nights, 0) as night:
        night.job("provision", "n")
        assert len(night.servers("n")) == 2, night.said
        match trouble:
            case "destroy fails":
                fault = Fault("DELETE", r"/servers/\d+", 503, "unavailable", times=4)
                night.stage.fake.faults.append(fault)
            case "the state is lost":
                nights.place("n").unlink()
            case _:
                nights.lock("n")
        night.job("teardown", "n")
        night.over("n")


def test_a_bucket_that_is_not_there_keeps_no_server_alive(nights: Nights) -> None:
    with begun(nights, 0) as night:
        night.job("provision", "n")
        nights.s3.stop()
        night.job("teardown", "n")
        assert not night.stage.left, night.said
        assert night.stage.billed == pytest.approx(night.bill())
