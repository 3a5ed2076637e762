"""Run the scripts that reproduce a regression on this machine, as the account of the servers."""

from __future__ import annotations

import math
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from pipeline.experiments.reproducer import ScriptRun
from pipeline.experiments.reproducer_script import SHOWS, SHOWS_NOT, ScriptTask, install_text
from pipeline.machine.account import Account
from pipeline.targets.base.script import ScriptLines
from pipeline.text.errors import UserError, first_line

PATIENCE = 600.0
"""Seconds after which a script is aborted: ten times what it may take."""

INSTALL_PATIENCE = 1800.0
"""Seconds after which the installation of both versions is aborted."""

_LAST = re.compile(rf"ratio ([0-9.]+): ({SHOWS}|{SHOWS_NOT})")
_PATH = "PATH=/usr/local/bin:/usr/bin:/bin"


class ShellScripts:
    """Runs scripts with an empty environment, in a folder of their own.

    The folder is reachable for the account and is deleted by the caller.
    """

    def __init__(self, folder: Path, account: Account, note: Callable[[str], None]) -> None:
        """Run scripts in ``folder``; ``note`` gets a line about each."""
        self._folder, self._account, self._note = folder, account, note
        self._installed: dict[bool, str] = {}
        self._number = 0

    def install(self, task: ScriptTask, lines: ScriptLines, as_measured: bool) -> str:
        """Install both versions and return the folder; a later call returns it at once.

        Raises UserError with the script's message if that fails.
        """
        if as_measured not in self._installed:
            folder = self._folder / ("measured" if as_measured else "fast")
            self._account.own(folder)
            done = self._sh(install_text(task, lines, str(folder)), INSTALL_PATIENCE)
            if done is None or done.returncode:
                why = (done.stderr.strip() if done else "") or "it takes too long"
                raise UserError(
                    f"the script cannot install {task.good} and {task.bad} "
                    f"({first_line(Exception(why))}); install its Debian packages "
                    f"{' '.join(lines.needs)}, check the network, and run again"
                )
            self._installed[as_measured] = str(folder)
        return self._installed[as_measured]

    def run(self, text: str, version: str = "") -> ScriptRun:
        """Run a script, by default with the bad version."""
        began = time.monotonic()
        done = self._sh(text, PATIENCE, *([version] if version else []))
        seconds = time.monotonic() - began
        last = _LAST.fullmatch(done.stdout.strip().rpartition("\n")[2]) if done else None
        if done is None or done.returncode or last is None:
            why = done.stderr.strip().rpartition("\n")[2] if done else "it takes too long"
            self._note(f"script {self._number} failed after {seconds:.0f} s: {why}")
            return ScriptRun(math.nan, shows=False, seconds=seconds)
        self._note(f"script {self._number}: {last[0]}, {seconds:.0f} s")
        return ScriptRun(float(last[1]), last[2] == SHOWS, seconds)

    def _sh(
        self, text: str, patience: float, *words: str
    ) -> subprocess.CompletedProcess[str] | None:
        """Run a text with sh; None if it takes longer than ``patience`` seconds."""
        self._number += 1
        path = self._folder / f"{self._number}.sh"
        path.write_text(text, encoding="utf-8")
        command = ["env", "-i", _PATH, f"TMPDIR={self._folder}", "sh", str(path), *words]
        try:
            return subprocess.run(
                self._account.command(*command, death_signal="TERM"),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=patience,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
