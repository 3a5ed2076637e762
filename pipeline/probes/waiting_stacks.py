"""What the threads of a server wait for during a step: call stacks that eu-stack reads."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pipeline.machine.account import contained
from pipeline.machine.processes import processes_of
from pipeline.model import SampledField
from pipeline.probes.base import ProfileError
from pipeline.profiles.eu_stack import stacks_by_thread
from pipeline.text.errors import first_line

PERIOD = 1.0
"""Seconds between two looks. One look stops each process for some milliseconds."""
PATIENCE = 10.0
"""Seconds after which a look at one process is given up."""
_WAITING = frozenset("SD")
"""States of a thread that is not on a processor and wants none: it waits for something."""


class WaitingStacks:
    """Samples the call stacks of the threads of a process and its children that wait.

    A CPU profile shows where a server computes; these stacks show where it waits: for a lock, for
    storage, for its client. It is a probe without fields. Stacks are unwound by the tables that
    every program has for exceptions, so those of prebuilt servers are whole.
    """

    fields: tuple[SampledField, ...] = ()

    def __init__(self, pid: int, period: float = PERIOD) -> None:
        """Watch the process ``pid`` and its children, once in ``period`` seconds."""
        self._pid, self._period = pid, period
        self._seen: Counter[str] = Counter()
        self._problem = "no stacks of waiting threads: the step did not begin"
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start to look; a second call has no effect. Call it when all connections are open."""
        if self._thread is None:
            self._problem = "no stacks of waiting threads: the step was too short"
            self._thread = threading.Thread(target=self._look, daemon=True)
            self._thread.start()

    def read(self) -> dict[str, float]:
        """Return no values, because a stack is not a number."""
        return {}

    def __enter__(self) -> WaitingStacks:
        """Do nothing; :meth:`begin` starts to look."""
        return self

    def __exit__(self, *failure: object) -> None:
        """Stop to look."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def stacks(self) -> Counter[str]:
        """Return the stacks of waiting threads as folded stacks, with how often each was seen.

        Raises ProfileError if eu-stack is missing, was refused or saw no thread.
        """
        if not self._seen:
            raise ProfileError(self._problem)
        return self._seen

    def _look(self) -> None:
        if shutil.which("eu-stack") is None:
            self._problem = (
                "no stacks of waiting threads: eu-stack is not installed (Debian's elfutils)"
            )
            return
        while not self._ended.wait(self._period):
            for pid in processes_of(self._pid):
                self._look_at(pid)

    def _look_at(self, pid: int) -> None:
        # Before eu-stack stops the threads: afterwards all of them wait.
        waiting = dict(_waiting(pid))
        if not waiting:
            return
        command = contained(["eu-stack", "--module", "--pid", str(pid)])
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                check=False,
                text=True,
                errors="replace",
                timeout=PATIENCE,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            self._problem = f"no stacks of waiting threads: {first_line(error)}"
            return
        stacks = stacks_by_thread(done.stdout)
        if not stacks and done.stderr:
            self._problem = f"no stacks of waiting threads: {done.stderr.splitlines()[0]}"
        for thread, frames in stacks.items():
            if thread in waiting and frames:
                self._seen[";".join((waiting[thread], *frames))] += 1


def _waiting(pid: int) -> Iterator[tuple[int, str]]:
    """Yield the number and the name of each thread of a process that waits."""
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError):
            name, _, rest = (task / "stat").read_text().partition("(")[2].rpartition(")")
            if rest.split()[0] in _WAITING:
                yield int(task.name), name.replace(";", ":")
