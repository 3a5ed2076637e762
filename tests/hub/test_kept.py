"""Services are started again, and publishing goes on, whatever became of the last time."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pytest

from pipeline.hub.http import Address
from pipeline.hub.layout import HubLayout
from pipeline.hub.publisher import Publisher
from pipeline.hub.run import Hub
from pipeline.hub.service import FIRST_DELAY, LONGEST_DELAY, SETTLED, RunningService, Service
from pipeline.machine.account import Account
from pipeline.text.errors import UserError
from tests.ports import free_port

PATIENCE = 120.0
URL = "http://127.0.0.1:9090/api/v1/write"


class Clock:
    """A clock that is set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def service(server_folder: Path) -> Service:
    return Service(
        name="Sleeper",
        command=("sleep", "1000"),
        environment={},
        folder=server_folder,
        log=server_folder / "sleeper.log",
        address=Address("127.0.0.1", free_port()),
        ready="/",
        complaint=lambda log: log.strip() or "nothing",
    )


@pytest.fixture
def reported() -> list[str]:
    return []


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kept(
    service: Service, account: Account, reported: list[str], clock: Clock
) -> Iterator[RunningService]:
    made = RunningService(service, account, reported.append, clock)
    yield made
    made.stop()


def kill(kept: RunningService) -> None:
    """Kill it and see to it that this is seen."""
    assert kept.pid is not None
    os.kill(kept.pid, signal.SIGKILL)

    def seen() -> bool:
        kept.look()
        return kept.pid is None

    until(seen)


def test_what_ends_is_reported_and_started_again_later_each_time(
    kept: RunningService, reported: list[str], clock: Clock
) -> None:
    kept.start()
    delays = []
    for _ in range(8):
        kill(kept)
        delays.append(float(reported[-1].rpartition(" in ")[2].removesuffix(" s")))
        clock.now += delays[-1] - 0.1
        kept.look()
        assert kept.pid is None, "not before its time"
        clock.now += 0.2
        kept.look()
        assert kept.pid is not None
    assert delays == [FIRST_DELAY, 2, 4, 8, 16, 32, LONGEST_DELAY, LONGEST_DELAY]
    assert kept.restarts == 8
    assert reported[0] == "Sleeper ended (killed by SIGKILL); restart in 1 s"
    clock.now += SETTLED
    kill(kept)
    assert reported[-1].endswith("in 1 s"), "it ran well for a while"


def test_a_log_that_is_taken_away_ends_no_hub(
    service: Service, account: Account, reported: list[str], clock: Clock
) -> None:
    ended = RunningService(replace(service, command=("false",)), account, reported.append, clock)
    ended.start()
    service.log.unlink()

    def seen() -> bool:
        ended.look()
        return ended.pid is None

    until(seen)
    assert reported == ["Sleeper ended (nothing); restart in 1 s"]
    log = str(service.folder / "publish.log")
    shown = publisher(service.folder, f"import os; os.remove({log!r})", reported, clock)
    once(shown, clock)
    assert shown.last is not None and shown.last.message == "exit code 0"


def test_what_never_served_needs_a_repair(service: Service, account: Account) -> None:
    wrong = RunningService(
        replace(service, command=("sh", "-c", "echo no such flag")), account, print
    )
    wrong.start()

    def refused() -> bool:
        try:
            wrong.check_started()
        except UserError as error:
            return (
                f"Sleeper did not start (no such flag); the log {service.log} has details"
                == str(error)
            )
        return False

    until(refused)
    wrong.stop()


def test_a_service_is_stopped_with_its_children(service: Service, account: Account) -> None:
    script = "trap 'exit 0' TERM; sleep 1000 & echo $!; wait"
    kept = RunningService(replace(service, command=("sh", "-c", script)), account, print)
    kept.start()
    until(lambda: service.log.read_text().strip() != "")
    pid, child = kept.pid, int(service.log.read_text())
    assert pid is not None
    kept.stop()
    until(lambda: not alive(pid) and not alive(child))
    kept.stop()


def publisher(folder: Path, script: str, reported: list[str], clock: Clock) -> Publisher:
    command = (sys.executable, "-c", script)
    return Publisher(URL, command, folder / "publish.log", 300.0, reported.append, clock)


def once(publisher: Publisher, clock: Clock) -> None:
    """Let it publish once more."""
    clock.now += 300.0
    before = publisher.last

    def ended() -> bool:
        publisher.look()
        return publisher.last is not before

    try:
        until(ended)
    finally:
        publisher.stop()


def test_publishing_is_reported_first_when_it_fails_and_when_it_goes_on(
    tmp_path: Path, reported: list[str], clock: Clock
) -> None:
    state = tmp_path / "state"
    script = (
        f"import sys; said = open({str(state)!r}).read(); print('something', said, sep='\\n');"
        "sys.exit(2 if 'nightshift' in said else 0)"
    )
    shown = publisher(tmp_path, script, reported, clock)
    for said in (
        "published 5 samples",
        "nightshift: nobody answers",
        "nightshift: nobody answers",
        "nightshift: the disk is full",
        "published 7 samples",
        "published nothing new",
    ):
        state.write_text(said)
        once(shown, clock)
    assert reported == [
        "published 5 samples",
        f"publishing to {URL} was incomplete: nobody answers",
        f"publishing to {URL} was incomplete: the disk is full",
        "publishing works again: published 7 samples",
    ]
    assert shown.last is not None
    assert (shown.last.well, shown.last.message) == (True, "published nothing new")


def test_what_publishing_warns_of_is_not_hidden_by_its_last_line(
    tmp_path: Path, reported: list[str], clock: Clock
) -> None:
    script = "print('nightshift: 3 samples were refused', 'published 5 samples', sep='\\n')"
    shown = publisher(tmp_path, script, reported, clock)
    once(shown, clock)
    assert reported == [f"publishing to {URL} was incomplete: 3 samples were refused"]
    assert shown.last is not None and not shown.last.well


def test_publishing_is_not_begun_twice_at_once(
    tmp_path: Path, reported: list[str], clock: Clock
) -> None:
    begun = tmp_path / "begun"
    script = f"import time; open({str(begun)!r}, 'a').write('x'); time.sleep(1000)"
    slow = publisher(tmp_path, script, reported, clock)
    slow.look()
    try:
        until(lambda: begun.exists() and begun.read_text() == "x")
        for _ in range(3):
            clock.now += 1000.0
            slow.look()
        assert begun.read_text() == "x"
    finally:
        slow.stop()
    assert slow.last is None


def test_a_hub_goes_on_where_its_state_cannot_be_written(
    server_folder: Path, reported: list[str], clock: Clock
) -> None:
    layout = HubLayout(server_folder)
    layout.state.mkdir()
    shown = publisher(server_folder, "print('published')", reported, clock)
    stop, hub = Event(), Hub(layout, [], [shown], reported.append)
    work = Thread(target=hub.run, args=(stop,))
    work.start()
    try:
        until(lambda: shown.last is not None)
    finally:
        stop.set()
        work.join()
    assert shown.last is not None and shown.last.well
    assert f"{layout.state} cannot be written: Is a directory" in reported


def test_several_receivers_are_served_in_turn(
    server_folder: Path, reported: list[str], clock: Clock
) -> None:
    begun = [server_folder / f"begun-{number}" for number in range(2)]
    may_end = server_folder / "may-end"
    script = (
        "import pathlib, sys, time\n"
        "pathlib.Path(sys.argv[1]).touch()\n"
        "while not pathlib.Path(sys.argv[2]).exists(): time.sleep(0.005)\n"
        "print('published')"
    )
    both = [
        Publisher(
            f"{URL}-{number}",
            (sys.executable, "-c", script, str(mark), str(may_end)),
            server_folder / f"publish-{number}.log",
            1000.0,
            reported.append,
            clock,
        )
        for number, mark in enumerate(begun)
    ]
    hub = Hub(HubLayout(server_folder), [], both, reported.append)
    try:
        hub.look()
        until(begun[0].exists)
        for _ in range(3):
            hub.look()
        assert both[0].running and not both[1].running
        may_end.touch()

        def published() -> bool:
            hub.look()
            return all(each.last is not None for each in both)

        until(published)
    finally:
        for each in both:
            each.stop()
    assert begun[1].exists()
    assert [each.last and each.last.message for each in both] == ["published", "published"]
    assert reported == ["published", "published"]
