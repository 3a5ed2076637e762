"""A CPU profile of the server during a step, recorded by `perf record`."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections import Counter
from pathlib import Path

from pipeline.machine.account import contained
from pipeline.machine.processes import processes_of
from pipeline.model import SampledField
from pipeline.probes.base import ProfileError
from pipeline.profiles.folded import fold

FREQUENCY = 99
"""Samples per second on each processor: few enough to cost nothing noticeable, and out of step with
events every 10 ms."""
PATIENCE = 60.0
"""Seconds that perf has to write its data."""


class Profile:
    """Records the call stacks of a process and its children with perf.

    It is a probe without fields. perf samples by the processor's cycles if available, else by the
    kernel's clock. Stacks are unwound by frame pointers: functions of a build without
    ``-fno-omit-frame-pointer`` have no callers.
    """

    fields: tuple[SampledField, ...] = ()

    def __init__(self, pid: int, file: Path) -> None:
        """Watch the process ``pid`` and its children; perf writes to ``file``."""
        self._pid = pid
        self._file = file
        self._output = file.with_suffix(".err")
        self._perf: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Start to record; a second call has no effect.

        Call it when measuring begins and all connections are open: perf takes a tenth of a second
        to start and misses connections that open during this time. Call it from a thread that
        outlives the recording, because the kernel kills perf when that thread ends.
        """
        if self._perf is not None:
            return
        command = ["perf", "record", f"--freq={FREQUENCY}", "-g", f"--output={self._file}"]
        command += ["--pid", ",".join(map(str, processes_of(self._pid)))]
        with self._output.open("wb") as output:
            self._perf = subprocess.Popen(
                contained(command), stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def read(self) -> dict[str, float]:
        """Return no values, because a profile is not a number."""
        return {}

    def __enter__(self) -> Profile:
        """Do nothing; :meth:`begin` starts the recording."""
        return self

    def __exit__(self, *failure: object) -> None:
        """Stop the recording and wait until perf has written it."""
        if self._perf is None:
            return
        self._perf.send_signal(signal.SIGINT)
        try:
            self._perf.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._perf.kill()
            self._perf.wait()

    def stacks(self) -> Counter[str]:
        """Return the recorded call stacks, with how often each was seen.

        Raises ProfileError if perf is missing, was refused or recorded nothing.
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
            self._output.unlink(missing_ok=True)
        if not found:
            raise ProfileError("no CPU profile: perf recorded no samples")
        return found

    def _complaint(self) -> str:
        """Return why perf recorded nothing, from what it printed."""
        output = self._output.read_text(errors="replace")
        if "perf_event_paranoid" in output:
            return "the kernel denies access; run as root, or set kernel.perf_event_paranoid to 1"
        lines = [line.strip() for line in output.splitlines() if line.strip(" \n:")]
        return next((line for line in lines if line != "Error:"), "perf printed no error")
