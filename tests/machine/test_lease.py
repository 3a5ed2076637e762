"""One at a time has the machine, and keeps it for as long as it lives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.machine import lease_record
from pipeline.machine.lease import INHERITED, TTL, HeldError, Lease, machine_lease
from pipeline.machine.lease_record import Claim, ClaimFile
from pipeline.machine.paths import RUN, lease_file, tune_record
from pipeline.machine.process_owner import Observer, ProcessIdentity, ProcessNamespace, plain
from pipeline.text.errors import UserError

ROOT = Path(__file__).parents[2]
LEFT = "a token"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def file(tmp_path: Path) -> ClaimFile:
    return ClaimFile(tmp_path / "nightshift.lease")


class Clock:
    """A clock that goes on by being slept on."""

    def __init__(self) -> None:
        self.at = NOON

    def now(self) -> datetime:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


def lease(file: ClaimFile, clock: Clock | None = None, inherited: str = "") -> Lease:
    clock = clock or Clock()
    return Lease(file, "the tests", inherited=inherited, clock=clock.now, sleep=clock.sleep)


def left_by(file: ClaimFile, **place: str) -> Claim:
    """Leave a lease of a process that is not there."""
    here = Observer().place()
    claim = Claim(
        token=LEFT,
        purpose="nightshift nightly",
        place=here.model_copy(update=place),
        holders=(ProcessIdentity(pid=2**22 + 1, started=1),),
        since=NOON,
        expires=NOON + TTL,
    )
    file.write(claim)
    return claim


def test_it_is_there_while_it_is_held(file: ClaimFile) -> None:
    ours = lease(file)
    with ours.held():
        claim = file.read()
        assert claim is not None
        assert (claim.purpose, claim.since, claim.expires) == ("the tests", NOON, NOON + TTL)
        assert [each.pid for each in claim.holders] == [os.getpid()]
        with ours.held():
            assert file.read() == claim
        assert file.read() == claim, "the outer one has it still"
    assert file.read() is None
    with ours.held():
        assert file.read() is not None


def test_everyone_may_read_it(file: ClaimFile) -> None:
    with lease(file).held():
        assert file.path.stat().st_mode & 0o777 == 0o644


def test_it_is_given_back_after_a_failure(file: ClaimFile) -> None:
    with pytest.raises(ZeroDivisionError), lease(file).held():
        raise ZeroDivisionError
    assert file.read() is None


def test_a_conflict_names_the_holder(file: ClaimFile) -> None:
    with lease(file).held(), pytest.raises(HeldError) as caught, lease(file).held():
        pytest.fail("two have one machine")
    assert str(caught.value) == (
        f"another nightshift (process {os.getpid()}) is measuring on this machine; wait for the "
        "tests to end, or stop it"
    )


def test_of_a_process_that_is_gone_it_is_taken(file: ClaimFile) -> None:
    left_by(file)
    with lease(file).held():
        claim = file.read()
        assert claim is not None
        assert claim.token != LEFT


def test_of_an_earlier_start_of_the_machine_it_is_taken(file: ClaimFile) -> None:
    if not Observer().place().machine:
        pytest.skip("this machine has no /etc/machine-id")
    left_by(file, boot="an earlier one")
    with lease(file).held():
        pass


@pytest.mark.parametrize(
    "place",
    [{"boot": "x", "machine": "another"}, {"namespace": "pid:[1]"}],
    ids=["machine", "container"],
)
def test_of_one_that_cannot_be_seen_it_is_not_taken_even_when_it_has_expired(
    file: ClaimFile, place: dict[str, str]
) -> None:
    claim = left_by(file, host="elsewhere", **place)
    late = Clock()
    late.sleep(10 * TTL.total_seconds())
    with (
        pytest.raises(HeldError, match=r"of elsewhere.*still runs is unknown"),
        lease(file, late).held(),
    ):
        pytest.fail("taken from one who may live")
    assert file.read() == claim
    with pytest.raises(HeldError, match="--force"):
        lease(file).break_()
    assert lease(file, late).break_() == claim
    assert file.read() is None


def test_one_that_has_expired_and_lives_is_reported_and_not_broken(file: ClaimFile) -> None:
    ours, late = lease(file), Clock()
    late.sleep(TTL.total_seconds() + 1)
    with ours.held():
        with pytest.raises(
            HeldError,
            match=r"it runs but has not renewed its lease since 2026-03-01 12:00 UTC.* hang",
        ):
            lease(file, late).break_()
        assert ours.renew()
        assert file.read() is not None


def test_one_that_is_held_is_renewed(file: ClaimFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.machine.lease.TTL", timedelta(milliseconds=30))
    clock = Clock()
    renewed = threading.Event()
    with lease(file, clock).held():
        clock.sleep(3600)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            claim = file.read()
            assert claim is not None
            if claim.expires > NOON + timedelta(seconds=3600):
                renewed.set()
                break
            time.sleep(0.01)
    assert renewed.is_set()


def test_it_is_waited_for_and_that_is_reported_once(file: ClaimFile) -> None:
    clock, reported = Clock(), list[str]()
    with lease(file).held(), pytest.raises(HeldError), lease(file, clock).held(12, reported.append):
        pytest.fail("two have one machine")
    assert clock.at == NOON + timedelta(seconds=12)
    assert len(reported) == 1 and reported[0].startswith("waiting: another nightshift")

    holder = lease(file)
    with_it = holder.held()
    with_it.__enter__()

    class Ends(Clock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            with_it.__exit__(None, None, None)

    with lease(file, Ends()).held(3600):
        assert file.read() is not None


def test_what_it_is_for_is_one_line_without_escapes(file: ClaimFile) -> None:
    with Lease(file, "a\x1b[2Jnight\n" + "x" * 200).held():
        claim = file.read()
        assert claim is not None
        assert claim.purpose == "a[2Jnight" + "x" * 91
        forged = claim.model_dump_json().replace("night", "\\u001b")
        file.path.write_text(forged)
        with pytest.raises(
            UserError,
            match=(
                "cannot be read, so this machine may be in use; check its "
                "processes, then run `nightshift lease break --force`"
            ),
        ):
            file.read()
        file.path.write_text(claim.model_dump_json())


@pytest.mark.parametrize(
    "forged",
    [
        {"holders": []},
        {"holders": [{"pid": -1, "started": 1}]},
        {"holders": [{"pid": 2**70, "started": 1}]},
        {"since": "2026-03-01T12:00:00"},
        {"purpose": "x" * 101},
        {"purpose": "y" * 200_000},
    ],
    ids=["nobody", "everybody", "no process", "no zone", "long", "too long to read"],
)
def test_what_another_user_may_have_forged_is_reported(
    file: ClaimFile, forged: dict[str, object]
) -> None:
    claim = left_by(file)
    file.path.write_text(json.dumps({**claim.model_dump(mode="json"), **forged}))
    with (
        pytest.raises(
            UserError,
            match=(
                "cannot be read, so this machine may be in use; check its processes, "
                "then run `nightshift lease break --force`"
            ),
        ),
        lease(file).held(),
    ):
        pytest.fail("taken")


def test_a_lease_without_a_token_is_joined_by_nobody(file: ClaimFile) -> None:
    with lease(file).held():
        claim = file.read()
        assert claim is not None
        file.write(claim.model_copy(update={"token": ""}))
        with pytest.raises(HeldError), lease(file).held():
            pytest.fail("taken")
        file.write(claim)


@pytest.mark.parametrize("kind", ["a link", "a pipe", "a folder"])
def test_what_is_no_file_is_reported(file: ClaimFile, tmp_path: Path, kind: str) -> None:
    if kind == "a link":
        (tmp_path / "secret").write_text("x")
        file.path.symlink_to(tmp_path / "secret")
    elif kind == "a pipe":
        os.mkfifo(file.path)
    else:
        file.path.mkdir()
    with (
        pytest.raises(
            UserError,
            match=(
                "cannot be read, so this machine may be in use; check its processes, "
                "then run `nightshift lease break --force`"
            ),
        ) as caught,
        lease(file).held(),
    ):
        pytest.fail("taken")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", '{"token": "x"}', "null"])
def test_one_that_cannot_be_understood_is_reported(file: ClaimFile, text: str) -> None:
    file.path.write_text(text)
    with (
        pytest.raises(
            UserError,
            match=(
                "cannot be read, so this machine may be in use; check its processes, "
                "then run `nightshift lease break --force`"
            ),
        ) as caught,
        lease(file).held(),
    ):
        pytest.fail("taken")
    assert "\n" not in str(caught.value)
    with pytest.raises(
        UserError,
        match=(
            "cannot be read, so this machine may be in use; check its processes, "
            "then run `nightshift lease break --force`"
        ),
    ):
        lease(file).break_()
    assert file.path.read_text() == text
    lease(file).break_(force=True)
    assert not file.path.exists()


def test_at_its_end_the_holder_learns_that_the_lease_was_broken(file: ClaimFile) -> None:
    ours = lease(file)
    held = ours.held()
    held.__enter__()
    with pytest.raises(HeldError, match="--force"):
        lease(file).break_()
    assert lease(file).break_(force=True) is not None
    assert not ours.renew()
    with lease(file).held():
        assert not ours.renew(), "it is another's"
        with pytest.raises(UserError, match="may be disturbed"):
            held.__exit__(None, None, None)
        assert file.read() is not None, "what is another's stays"


def test_there_may_be_nothing_to_break(file: ClaimFile) -> None:
    assert lease(file).break_() is None


def test_who_was_started_under_it_has_it_too(file: ClaimFile) -> None:
    ours = lease(file)
    with ours.held():
        under = lease(file, inherited=ours.token)
        with under.held():
            claim = file.read()
            assert claim is not None and len(claim.holders) == 2
        claim = file.read()
        assert claim is not None and len(claim.holders) == 1
        with pytest.raises(HeldError), lease(file, inherited="another").held():
            pytest.fail("a token of another lease")
    with lease(file, inherited=ours.token).held():
        claim = file.read()
        assert claim is not None and claim.token != ours.token, "that one has ended"


def test_it_lasts_until_the_last_of_those_under_it_has_ended(file: ClaimFile) -> None:
    claim = left_by(file)
    under = lease(file, inherited=claim.token)
    with under.held(), pytest.raises(HeldError), lease(file).held():
        pytest.fail("one under it is measuring still")


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    where = ClaimFile(tmp_path / "file/nightshift.lease")
    with pytest.raises(UserError, match="cannot be changed") as caught, lease(where).held():
        pytest.fail("held")
    assert "\n" not in str(caught.value)


def test_the_guard_is_no_link_that_leads_elsewhere(file: ClaimFile, tmp_path: Path) -> None:
    file.path.with_suffix(".guard").symlink_to(tmp_path / "trap")
    with pytest.raises(UserError, match="cannot be changed"), lease(file).held():
        pytest.fail("held")
    assert not (tmp_path / "trap").exists()


_NOBODY = """
import os, sys
from pathlib import Path
from pipeline.text.errors import UserError
from pipeline.machine.lease_record import ClaimFile
from pipeline.machine.lease import Lease

os.setgroups([])
os.setgid(65534)
os.setuid(65534)
try:
    with Lease(ClaimFile(Path(sys.argv[1])), "nobody's").held():
        print("won", flush=True)
        if sys.argv[2] == "leave":
            os._exit(0)
except UserError as error:
    print(error, flush=True)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may be another user")
def test_users_share_a_machine(server_folder: Path) -> None:
    """What another user left is reported if it may not be removed; root removes it."""
    server_folder.chmod(0o1777)
    file = ClaimFile(server_folder / "nightshift.lease")

    def nobody(what: str) -> str:
        command = [sys.executable, "-c", _NOBODY, str(file.path), what]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout.strip()

    assert nobody("leave") == "won"
    assert file.path.stat().st_uid == 65534
    with lease(file).held():
        assert "is measuring on this machine" in nobody("take")
    assert nobody("take") == "won"
    left_by(file)
    reported = nobody("take")
    assert "cannot be changed (Operation not permitted)" in reported
    assert (
        "); its owner or root can run `nightshift lease break`" in reported and "\n" not in reported
    )
    assert lease(file).break_() is not None
    assert nobody("take") == "won"


_RACER = """
import sys
from contextlib import ExitStack
from pathlib import Path
from pipeline.machine.lease_record import ClaimFile
from pipeline.machine.lease import HeldError, Lease

print("ready", flush=True)
stack = ExitStack()
for word in sys.stdin:
    if word == "give\\n":
        stack.close()
        print("given", flush=True)
        continue
    try:
        stack.enter_context(Lease(ClaimFile(Path(sys.argv[1])), "racing").held())
        print("won", flush=True)
    except HeldError:
        print("lost", flush=True)
"""

_KILLED = """
import fcntl, os, pathlib, signal, sys, tempfile
from pipeline.machine.lease_record import ClaimFile
from pipeline.machine.lease import Lease

path, left = pathlib.Path(sys.argv[1]), int(sys.argv[2])

def counted(what):
    def do(*args, **named):
        global left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return what(*args, **named)
    return do

# What changes the files of a lease, or the lock on them.
fcntl.flock = counted(fcntl.flock)
tempfile.mkstemp = counted(tempfile.mkstemp)
os.fsync = counted(os.fsync)
pathlib.Path.replace = counted(pathlib.Path.replace)
pathlib.Path.unlink = counted(pathlib.Path.unlink)
with Lease(ClaimFile(path), "killed").held():
    pass
"""


class Racer:
    """Another process that takes the lease and gives it back on request."""

    def __init__(self, file: ClaimFile) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _RACER, str(file.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def say(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


@contextmanager
def racers(file: ClaimFile, number: int) -> Iterator[list[Racer]]:
    started = [Racer(file) for _ in range(number)]
    try:
        assert [each.hear() for each in started] == ["ready"] * number
        yield started
    finally:
        for each in started:
            each.kill()


def test_of_many_that_race_exactly_one_wins(file: ClaimFile, tmp_path: Path) -> None:
    with racers(file, 5) as all_of_them:
        for number in range(40):
            if number % 2:
                left_by(file)  # All of them find one to break.
            for each in all_of_them:
                each.say("take")
            said = [each.hear() for each in all_of_them]
            assert sorted(said) == ["lost"] * 4 + ["won"]
            winner = all_of_them[said.index("won")]
            winner.say("give")
            assert winner.hear() == "given"
    assert [path.name for path in tmp_path.iterdir()] == ["nightshift.guard"]


def test_when_the_winner_is_killed_exactly_one_of_the_others_wins(file: ClaimFile) -> None:
    with racers(file, 4) as alive:
        while alive:
            for each in alive:
                each.say("take")
            said = [each.hear() for each in alive]
            assert said.count("won") == 1
            alive.pop(said.index("won")).kill()
    with lease(file).held():
        pass


def test_of_one_that_was_killed_anywhere_it_is_taken(file: ClaimFile) -> None:
    number = 0
    while True:
        command = [sys.executable, "-c", _KILLED, str(file.path), str(number)]
        ended = subprocess.run(command, check=False, cwd=ROOT)
        with lease(file).held():
            pass
        assert file.read() is None
        if not ended.returncode:
            break
        assert ended.returncode == -signal.SIGKILL
        number += 1
    # To take it: the lock, a new file, its content, its name, the folder. To give it back: the
    # lock, the name, the folder.
    assert number == 8


@given(
    claim=st.builds(
        Claim,
        token=st.text(max_size=5),
        purpose=st.text(max_size=200).map(plain),
        place=st.builds(ProcessNamespace, host=st.text().map(plain)),
        holders=st.lists(
            st.builds(ProcessIdentity, pid=st.integers(1, 2**31 - 1)), min_size=1, max_size=3
        ).map(tuple),
        since=st.datetimes(timezones=st.just(UTC)),
        expires=st.datetimes(timezones=st.just(UTC)),
    )
)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, claim: Claim) -> None:
    kept = ClaimFile(tmp_path_factory.mktemp("claim") / "nightshift.lease")
    kept.write(claim)
    assert kept.read() == claim


def test_the_machine_s_lease_is_where_everyone_may_take_it(tmp_path: Path) -> None:
    shared, private, missing = tmp_path / "shared", tmp_path / "private", tmp_path / "missing"
    shared.mkdir()
    shared.chmod(0o1777)
    private.mkdir(mode=0o755)
    assert lease_file({}, (missing, private, shared)) == shared / "nightshift.lease"
    assert lease_file({}, (shared, private)) == shared / "nightshift.lease"
    assert lease_file({RUN: str(private)}) == private / "nightshift.lease"
    assert tune_record({}) == Path("/run/nightshift/tuned.json")
    assert tune_record({RUN: str(private)}) == private / "tuned.json"


def test_the_machine_s_lease_is_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    with (outer := machine_lease("a night")).held():
        with pytest.raises(HeldError, match="wait for a night to end"), machine_lease().held():
            pytest.fail("not under it")
        monkeypatch.setenv(INHERITED, outer.token)
        with machine_lease().held():
            pass


def test_a_guard_that_somebody_keeps_is_a_line_and_no_hang(
    file: ClaimFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_record, "PATIENCE", 0.2)
    with file.exclusive():
        pass
    guard = file.path.with_suffix(".guard")
    with subprocess.Popen(
        ["flock", str(guard), "sh", "-c", "echo locked; exec sleep 600"],
        stdout=subprocess.PIPE,
        text=True,
    ) as keeper:
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == "locked\n"
        with pytest.raises(UserError) as error, lease(file).held():
            pytest.fail("it has the lease without the lock")
        keeper.kill()
    assert "\n" not in str(error.value)
    assert str(guard) in str(error.value)
    assert f"process {keeper.pid} " in str(error.value)
