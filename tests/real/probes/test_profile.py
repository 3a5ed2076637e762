"""The processes of a tree in a profile by the real perf: how much of a second it samples."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.probes.profile import Profile
from tests.probes.test_profile import why_not

_BUSY = """
import sys, time
from pathlib import Path
Path("/proc/self/comm").write_text("busy-child")
print("up", flush=True)
sys.stdin.readline()
end = time.process_time() + 1
while time.process_time() < end:
    pass
"""
_SERVER = """
import subprocess, sys
sys.exit(subprocess.run([sys.argv[1], "-c", sys.argv[2]]).returncode)
"""


def await_recording(folder: Path) -> None:
    """Wait until perf has attached itself: it writes the head of its file then."""
    file = folder / "perf.data"
    deadline = time.monotonic() + 60
    while not file.exists() or file.stat().st_size == 0:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_every_process_of_a_tree_is_recorded(tmp_path: Path) -> None:
    if reason := why_not(tmp_path):
        pytest.skip(reason)
    command = [sys.executable, "-c", _SERVER, sys.executable, _BUSY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"up\n"
        with Profile(server.pid, tmp_path / "perf.data") as profile:
            profile.begin()
            profile.begin()  # Of no effect.
            await_recording(tmp_path)
            server.communicate(b"\n")
        stacks = profile.stacks()
    # A second at 99 samples, of which a busy machine loses some.
    assert stacks.total() > 50
    # Only the child was busy.
    assert stacks.total() / 2 < sum(n for s, n in stacks.items() if s.startswith("busy-child"))
    assert list(tmp_path.glob("perf.*")) == []
