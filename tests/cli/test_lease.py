"""The verbs of the lease: who has the machine, a command that has it, and what is left of one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.machine.lease import TTL, machine_lease
from pipeline.machine.lease_record import Claim
from pipeline.machine.process_owner import Observer, ProcessIdentity
from tests.cli.conftest import Nightshift

ROOT = Path(__file__).parents[2]


def left() -> None:
    """Leave the lease of a process that is gone."""
    now = datetime.now(UTC)
    claim = Claim(
        token="x",  # noqa: S106 - of a lease, no secret
        purpose="nightshift nightly",
        place=Observer().place(),
        holders=(ProcessIdentity(pid=2**22 + 1, started=1),),
        since=now,
        expires=now + TTL,
    )
    file = machine_lease().file
    with file.exclusive():
        file.write(claim)


def test_nobody_has_it(nightshift: Nightshift) -> None:
    assert (
        nightshift("lease", "status").out
        == "the lease of this machine is free: nobody measures here\n"
    )
    assert nightshift("lease", "status", "--format", "json").json["lease"] is None
    assert nightshift("lease", "break").out == "nobody holds the lease of this machine\n"


def test_who_has_it(nightshift: Nightshift) -> None:
    with machine_lease("a night").held():
        shown = nightshift("lease", "status").out
        assert shown.startswith(f"leased for a night by process {os.getpid()} of ")
        assert shown.endswith("its owner is running\n")
        reported = nightshift("lease", "status", "--format", "json").json["lease"]
        assert (reported["standing"], reported["expired"], reported["purpose"]) == (
            "lives",
            False,
            "a night",
        )
        refused = nightshift("lease", "break")
        assert refused.code == 2
        assert "--force" in refused.err and refused.err.count("\n") == 1


def test_one_that_was_left_is_broken(nightshift: Nightshift) -> None:
    left()
    assert ("its owner ended: the next process takes the lease") in nightshift(
        "lease", "status"
    ).out
    assert nightshift("lease", "break").out.startswith(
        "broke the lease that process 4194305 held for nightshift "
    )
    left()
    assert nightshift("lease", "break", "--format", "json").json["broken"]["standing"] == "gone"
    left()
    assert nightshift("lease", "take", "--", "true").code == 0
    assert machine_lease().file.read() is None


@pytest.mark.parametrize(
    ("code", "script"), [(0, "exit 0"), (7, "exit 7"), (137, "kill -9 $$")], ids=str
)
def test_a_command_has_it_and_its_exit_code_is_ours(
    nightshift: Nightshift, code: int, script: str, tmp_path: Path
) -> None:
    file = machine_lease().file.path
    ran = nightshift("lease", "take", "--", "sh", "-c", f"cp {file} {tmp_path}/seen; {script}")
    assert ran.code == code
    assert Claim.model_validate_json((tmp_path / "seen").read_text()).purpose == "sh"
    assert not file.exists()


def test_what_nightshift_does_under_it_belongs_to_it(nightshift: Nightshift) -> None:
    """`lease take` inside of `lease take` is refused unless it was started by it."""
    inner = [sys.executable, "-m", "pipeline", "lease", "take", "--", "true"]
    code = f"import os, subprocess; os.chdir({str(ROOT)!r}); exit(subprocess.call({inner!r}))"
    assert nightshift("lease", "take", "--", sys.executable, "-c", code).code == 0
    with machine_lease("a night").held():
        assert nightshift("lease", "take", "--", "true").code == 2


def test_it_is_waited_for(nightshift: Nightshift, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.machine.lease.POLL", 0.01)
    with machine_lease("a night").held():
        ran = nightshift("lease", "take", "--wait", "2s", "--", "true")
    assert ran.code == 2
    waited, refused = ran.err.splitlines()
    assert waited.startswith("nightshift: waiting: another nightshift (process ")
    assert "wait for a night to end" in refused


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--wait", "2", "--", "true"), "--wait: '2' is not a duration"),
        (("--", "a-program-that-is-nowhere"), "a-program-that-is-nowhere is not installed"),
        ((), "Missing argument"),
    ],
    ids=["no unit", "no program", "no command"],
)
def test_what_cannot_be_run_is_one_line(
    nightshift: Nightshift, args: tuple[str, ...], said: str
) -> None:
    ran = nightshift("lease", "take", *args)
    assert ran.code == 2
    assert said in ran.err and ran.err.count("\n") == 1


def test_ended_by_a_signal_the_command_is_ended_and_the_lease_is_free(tmp_path: Path) -> None:
    began = tmp_path / "began"
    script = f"trap 'exit 0' TERM; touch {began}; while :; do sleep 0.05; done"
    command = [sys.executable, "-m", "pipeline", "lease", "take", "--", "sh", "-c", script]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) as process:
        try:
            for _ in range(3600):
                if began.exists():
                    break
                time.sleep(0.05)
            claim = machine_lease().file.read()
            assert claim is not None and claim.holders[0].pid == process.pid
            process.send_signal(signal.SIGTERM)
            process.communicate()
        finally:
            process.kill()
    assert process.returncode == 130
    assert machine_lease().file.read() is None
