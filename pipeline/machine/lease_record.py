"""The file that records who holds the lease of a machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, Field, ValidationError

from pipeline.files.atomic_write import remove_durably, write_durably
from pipeline.files.lock import LockHeldError, lock_descriptor
from pipeline.machine.process_owner import (
    Observer,
    OwnerState,
    Plain,
    ProcessIdentity,
    ProcessNamespace,
)
from pipeline.model import Frozen
from pipeline.text.errors import UserError

_READING = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Flags to open files that may be another user's: do not follow links or wait for pipes."""

PATIENCE = 30.0
"""Seconds to wait for the lock of the lease's file, which another nightshift holds for
milliseconds."""

_LONGEST = 100_000
"""Maximum number of bytes to read of a lease."""


class Claim(Frozen):
    """The record of a held lease: who, since when, until when, why.

    ``holders`` are the processes with the lease: the first one took it; the others were started
    under the lease and keep it as long as they live. ``token`` identifies the lease.
    """

    token: str
    purpose: Plain
    place: ProcessNamespace
    holders: Annotated[tuple[ProcessIdentity, ...], Field(min_length=1)]
    since: AwareDatetime
    expires: AwareDatetime

    def standing(self, observer: Observer) -> OwnerState:
        """Return whether the holder of the lease is alive, gone or unknown."""
        found = {observer.standing(each, self.place) for each in self.holders}
        for standing in (OwnerState.LIVES, OwnerState.UNKNOWN):
            if standing in found:
                return standing
        return OwnerState.GONE


class ClaimFile:
    """The file that records the lease. One process at a time reads and changes it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other processes from changing the lease's file for a moment.

        The kernel releases the lock when this process is killed. Raises UserError if no lease can
        be stored, and if another process keeps the lock for longer than any nightshift does.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            guard = _opened(self.path.with_suffix(".guard"))
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._lock(guard)
            yield
        finally:
            os.close(guard)

    def read(self) -> Claim | None:
        """Return the lease that is held, if any. Raises UserError if the file is invalid."""
        try:
            with open(os.open(self.path, _READING), "rb") as file:  # noqa: PTH123 - flags
                return Claim.model_validate_json(file.read(_LONGEST))
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise UserError(
                f"the lease file {self.path} cannot be read, so this machine may be in use; check "
                "its processes, then run `nightshift lease break --force`"
            ) from error

    def write(self, claim: Claim) -> None:
        """Record a lease. Raises UserError if the file cannot be written."""
        try:
            write_durably(self.path, claim.model_dump_json(indent=1))
        except OSError as error:
            raise self._unwritable(error) from error

    def remove(self) -> None:
        """Remove the record of the lease. Raises UserError if that fails."""
        try:
            remove_durably(self.path)
        except OSError as error:
            raise self._unwritable(error) from error

    def _lock(self, guard: int) -> None:
        """Lock the lease's file; give up after a while, so that a night never hangs."""
        try:
            lock_descriptor(guard, PATIENCE)
        except LockHeldError as error:
            raise UserError(
                f"{error} has locked {self.path.with_suffix('.guard')} for more than {PATIENCE:g} "
                "s, but this lock is normally held only briefly; end that process, then run the "
                "same command again"
            ) from error

    def _unwritable(self, error: OSError) -> UserError:
        return UserError(
            f"the lease file {self.path} cannot be changed ({error.strerror}); its owner or "
            "root can run `nightshift lease break`"
        )


def _opened(guard: Path) -> int:
    """Open the lock beside the lease's file; create it if it is missing.

    In a folder for everyone the file may be another user's. Such a file is opened without O_CREAT,
    with which the kernel would refuse it as a possible trap (fs.protected_regular).
    """
    while True:
        try:
            return os.open(guard, _READING)
        except FileNotFoundError:
            try:
                return os.open(guard, _READING | os.O_CREAT | os.O_EXCL, 0o644)
            except FileExistsError:
                continue
