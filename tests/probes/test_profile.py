"""Profiles by the real perf, where it is and may."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.probes.base import ProfileError
from pipeline.probes.profile import Profile


def why_not(folder: Path) -> str:
    """Say why perf does not record here; empty if it does."""
    if shutil.which("perf") is None:
        return "perf is not installed"
    command = ["perf", "record", "-g", "-o", str(folder / "tried"), sys.executable, "-c", ""]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"perf does not record here: {tried.stderr}" if tried.returncode else ""


def test_a_missing_perf_is_one_line_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    setpriv = shutil.which("setpriv")
    assert setpriv is not None
    (tools / "setpriv").symlink_to(setpriv)
    monkeypatch.setenv("PATH", str(tools))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as idle:
        with Profile(idle.pid, tmp_path / "perf.data") as profile:
            profile.begin()
        with pytest.raises(ProfileError, match=r"perf is not installed .*linux-perf") as reported:
            profile.stacks()
        idle.communicate(b"\n")
    assert "\n" not in str(reported.value)


def test_a_refused_perf_is_one_line_that_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    perf = tmp_path / "perf"
    perf.write_text(
        "#!/bin/sh\necho 'Error:' >&2\necho 'Access to performance monitoring and observability "
        "operations is limited.' >&2\necho 'kernel.perf_event_paranoid is 4' >&2\nexit 255\n"
    )
    perf.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with Profile(1, tmp_path / "perf.data") as profile:
        profile.begin()
        assert profile._perf is not None
        profile._perf.wait()
    with pytest.raises(ProfileError, match=r"set kernel\.perf_event_paranoid"):
        profile.stacks()


def test_a_step_that_did_not_begin_has_no_profile(tmp_path: Path) -> None:
    with Profile(1, tmp_path / "perf.data") as profile:
        pass
    with pytest.raises(ProfileError, match="did not begin"):
        profile.stacks()
