"""A CPU profile of the server through a step, by `perf record`."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections import Counter
from pathlib import Path
from types import TracebackType

import psutil

from pipeline.machine.account import contained
from pipeline.model import SampledField
from pipeline.profiles.folded import fold

FREQUENCY = 99
"""Samples a second of each processor: rare enough not to be felt, and not in step with what
happens every 10 ms."""
PATIENCE = 60.0
"""Seconds that perf has to write what it holds."""


class ProfileError(Exception):
    """A profile that could not be had; the text is one line and says why."""


class Profile:
    """Records the stacks of a process tree from :meth:`begin` until it is left.

    It is a probe without figures. perf takes the processor's cycles where it has any, and the
    kernel's clock elsewhere. Stacks are followed by frame pointers: functions of a build without
    them (``-fno-omit-frame-pointer``) have no callers.
    """

    name = "profile"
    help = "stacks of the server's process tree, for a flame graph"
    fields: tuple[SampledField, ...] = ()

    def __init__(self, pid: int, file: Path) -> None:
        """Watch the tree below ``pid``; what perf records goes to ``file``."""
        self._pid = pid
        self._file = file
        self._said = file.with_suffix(".err")
        self._perf: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Record all that runs now, and what it starts; a second call changes nothing.

        To be called when measuring begins and all connections are there: those that come while
        perf starts, which takes it a tenth of a second, are missed. Call it from a thread that
        outlives the recording, because the kernel ends perf with it.
        """
        if self._perf is not None:
            return
        command = ["perf", "record", f"--freq={FREQUENCY}", "-g", f"--output={self._file}"]
        command += ["--pid", ",".join(map(str, _tree(self._pid)))]
        with self._said.open("wb") as said:
            self._perf = subprocess.Popen(
                contained(command), stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )

    def read(self) -> dict[str, float]:
        """Return nothing."""
        return {}

    def __enter__(self) -> Profile:
        """Do nothing before :meth:`begin`."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the recording and wait until it is written."""
        if self._perf is None:
            return
        self._perf.send_signal(signal.SIGINT)
        try:
            self._perf.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._perf.kill()
            self._perf.wait()

    def stacks(self) -> Counter[str]:
        """Return the folded stacks, after it was left.

        Raises ProfileError where perf is missing, was refused or saw nothing.
        """
        command = ["perf", "script", "--no-inline", "-F", "comm,ip,sym,dso"]
        command.append(f"--input={self._file}")
        if self._perf is None:
            raise ProfileError("no CPU profile: the step did not begin")
        if shutil.which("perf") is None:
            raise ProfileError("no CPU profile: perf is not installed (Debian's linux-perf)")
        try:
            if not self._file.exists():
                raise ProfileError(f"no CPU profile: {self._complaint()}")
            with subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                errors="replace",
            ) as script:
                found = fold(script.stdout or ())
        finally:
            self._file.unlink(missing_ok=True)
            self._said.unlink(missing_ok=True)
        if not found:
            raise ProfileError("no CPU profile: perf saw no work")
        return found

    def _complaint(self) -> str:
        """Return why perf recorded nothing, from what it said."""
        said = self._said.read_text(errors="replace")
        if "perf_event_paranoid" in said:
            return "the kernel refuses; run as root, or set kernel.perf_event_paranoid to 1"
        lines = [line.strip() for line in said.splitlines() if line.strip(" \n:")]
        return next((line for line in lines if line != "Error:"), "perf said nothing")


def _tree(pid: int) -> list[int]:
    try:
        root = psutil.Process(pid)
        return [pid, *(child.pid for child in root.children(recursive=True))]
    except psutil.NoSuchProcess:
        return [pid]
