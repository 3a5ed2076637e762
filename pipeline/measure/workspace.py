"""The private folders in which servers run; the next night removes those of a killed one."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pipeline.files import lock
from pipeline.machine.account import Account
from pipeline.machine.lease import Lease, machine_lease
from pipeline.model import Build, digest
from pipeline.targets import find_target
from pipeline.text.errors import UserError


class Workspace:
    """The part of the cache in which servers run; only one night at a time uses it."""

    def __init__(self, cache: Path, account: Account, lease: Lease | None = None) -> None:
        """Use a cache folder, with the given lease or the lease of this machine."""
        self.account = account
        self.cache = cache
        self.lease = lease or machine_lease()
        self._runs = cache / "runs"
        self._templates = cache / "templates"
        self._making = threading.Lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the machine's lease, so that two nights never measure at the same time.

        Removes the folders that a killed night left. Raises UserError while another night runs,
        whatever cache and results folder it uses.
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
        """Lock the cache folder, so that no other process runs servers in it.

        Another process would take our servers' folders for those of a killed night and remove them.
        It may run in another container, or be a second process started under the same ``lease
        take``.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(lock.held(self._runs / ".lock", patience=0))
            except lock.LockHeldError as error:
                raise UserError(
                    f"another nightshift ({error}) runs servers in {self._runs}; wait for it to end"
                ) from error
            yield

    def check_tools(self) -> None:
        """Raise UserError if the tools that confine a server's processes are missing."""
        for tool in ("setpriv", "taskset"):
            if shutil.which(tool) is None:
                raise UserError(f"{tool} is not installed; install the package util-linux")

    @contextmanager
    def folder(self, name: str) -> Iterator[Path]:
        """Yield a new private folder for a server, and delete it afterwards."""
        folder = self._runs / name
        self.account.own(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def template(self, build: Build, options: Sequence[str] = ()) -> Path:
        """Return the empty database of a build; it is created on the first call.

        ``options`` are the configuration's settings that take effect only when a database is
        created.
        """
        layout = f"-{digest(list(options))[:8]}" if options else ""
        folder = self._templates / build.target / f"{build.hash}{layout}"
        # Counted runs of one build begin at once.
        with self._making:
            if not folder.exists():
                self._templates.mkdir(parents=True, exist_ok=True)
                find_target(build.target).template(build, folder, self.account, options)
        return folder
