"""Where servers run: private folders that a killed night does not leave behind for long."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import UserError
from pipeline.machine.account import Account
from pipeline.machine.lease import Lease, machine_lease
from pipeline.model import Build
from pipeline.targets import find_target


class Workspace:
    """The part of the cache in which servers run. Whoever has the machine's lease may use it."""

    def __init__(self, cache: Path, account: Account, lease: Lease | None = None) -> None:
        """Use a cache, by a lease or that of this machine."""
        self.account = account
        self.cache = cache
        self.lease = lease or machine_lease()
        self._runs = cache / "runs"
        self._templates = cache / "templates"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the machine, so that two nights never disturb each other's measurements.

        What a killed night left is removed. Raises UserError while another one runs, from whatever
        cache and into whatever results.
        """
        self._runs.mkdir(parents=True, exist_ok=True)
        self.account.check_reach(self._runs)
        with self.lease.held(), self._alone():
            for left in self._runs.iterdir():
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
            yield

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep out who shares this cache and not our lease, or shares it by having joined it.

        It would remove the servers' folders as those of a killed night: one of another container,
        or a second one that was started under the same ``lease take``.
        """
        with (self._runs / ".lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UserError(
                    f"another nightshift has servers in {self._runs}; wait for it to end"
                ) from error
            yield

    def check_tools(self) -> None:
        """Refuse a machine that lacks the tools that contain processes."""
        for tool in ("setpriv", "taskset"):
            if shutil.which(tool) is None:
                raise UserError(f"{tool} is not installed; install the package util-linux")

    @contextmanager
    def folder(self, name: str) -> Iterator[Path]:
        """Give a private folder that is gone afterwards."""
        folder = self._runs / name
        self.account.own(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def template(self, build: Build) -> Path:
        """Return the empty database of a build, made the first time it is asked for."""
        folder = self._templates / build.target / build.hash
        if not folder.exists():
            self._templates.mkdir(parents=True, exist_ok=True)
            find_target(build.target).template(build, folder, self.account)
        return folder
