"""Count instructions with Valgrind's callgrind around a server or a load generator."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from pipeline.machine.account import Account
from pipeline.measure.counting import CountError, serves
from pipeline.profiles.callgrind import CallgrindError, CallgrindProfile, complete, parse
from pipeline.targets.base import Counting
from pipeline.text.errors import UserError, first_line

FOLDER = "counts"
"""Name of the folder for callgrind's files, inside the private folder of a run."""

END_DEADLINE = 120.0
"""Seconds after the end of a client in which the server process that served it must end."""
END_POLL = 0.05
"""Seconds between two checks for the counts of that server process."""
DUMP_DEADLINE = 120.0
"""Seconds that a running server may take to write its files."""

_FILE = re.compile(r"counts\.(\d+)(?:[.-].*)?")


class Callgrind:
    """Counts the instructions of one run; the folder for its files is writable by the server."""

    def __init__(
        self, folder: Path, counting: Counting, account: Account, *, cache_simulation: bool
    ) -> None:
        """Count into files in ``folder``. Raises UserError if Valgrind is missing."""
        valgrind_version()
        self._folder, self._counting, self._account = folder, counting, account
        self._cache_simulation = cache_simulation
        account.own(folder)

    @property
    def command(self) -> tuple[str, ...]:
        """The command that runs a program and its children under callgrind."""
        threads = "yes" if self._counting.threads else "no"
        simulation = ("--cache-sim=yes", "--branch-sim=yes") if self._cache_simulation else ()
        # callgrind_control speaks to a running server through files of this name.
        control = f"--vgdb-prefix={self._vgdb}" if self._counting.threads else "--vgdb=no"
        return (
            "setarch",
            "--addr-no-randomize",
            "valgrind",
            "--tool=callgrind",
            "--quiet",
            "--trace-children=yes",
            "--dump-line=no",
            f"--separate-threads={threads}",
            control,
            *simulation,
            f"--callgrind-out-file={self._folder}/counts.%p",
        )

    @property
    def _vgdb(self) -> str:
        return f"{self._folder}/vgdb-pipe"

    def clear(self) -> None:
        """Delete all count files, so that the next counts do not include earlier work."""
        for path in self._folder.glob("counts.*"):
            path.unlink()

    def dump(self, pid: int) -> None:
        """Make a running process write the counts of its threads since the last dump.

        Raises CountError if the process does not write them in time.
        """
        command = self._account.command(
            "callgrind_control", f"--vgdb-prefix={self._vgdb}", "--dump", str(pid)
        )
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=DUMP_DEADLINE,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise CountError("the server did not write its instruction counts in time") from error
        if done.returncode:
            raise CountError(f"callgrind_control failed ({first_line(Exception(done.stderr))})")

    def profiles(self, without: Collection[int] = ()) -> list[CallgrindProfile]:
        """Return the counts of all processes that ended, and of threads that were dumped.

        ``without`` are process ids to leave out. Raises CountError for an unreadable file.
        """
        return list(self._profiles(without))

    def await_client(self, without: Collection[int]) -> list[CallgrindProfile]:
        """Wait until the process that served the last client ended; return all counts.

        Processes from before that client are left out: ``without`` has their ids. Raises CountError
        if the process does not end in time, and for an unreadable file.
        """
        deadline = time.monotonic() + END_DEADLINE
        while True:
            found = self.profiles(without)
            if any(serves(profile, self._counting) for profile in found):
                return found
            if time.monotonic() > deadline:
                raise CountError(
                    f"no server process of the step ended within {END_DEADLINE:.0f} s "
                    "of the end of its client"
                )
            time.sleep(END_POLL)

    def _profiles(self, without: Collection[int]) -> Iterator[CallgrindProfile]:
        for path in sorted(self._folder.iterdir()):
            named = _FILE.fullmatch(path.name)
            if named is None or int(named[1]) in without:
                continue
            text = path.read_text(errors="replace")
            if not complete(text):
                continue
            try:
                yield parse(text)
            except CallgrindError as error:
                raise CountError(str(error)) from error


@cache
def valgrind_version() -> str:
    """Return the installed version of Valgrind. Raises UserError if there is none."""
    if shutil.which("valgrind") is None:
        raise UserError(
            "mode count needs Valgrind, which is not installed; run `make setup`, or install the "
            "package valgrind"
        )
    shown = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True)
    return shown.stdout.strip().removeprefix("valgrind-")
