"""The file of a machine's lease: its holders, their purpose, and the expiry."""

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
"""Seconds to wait for the lock of a lease, which a nightshift has for milliseconds."""

_LONGEST = 100_000
"""The most bytes of a lease to read."""


class Claim(Frozen):
    """A held lease.

    ``holders`` are its processes: the first one took it; the others were started under it and keep
    it as long as they live. ``token`` identifies the lease.
    """

    token: str
    purpose: Plain
    place: ProcessNamespace
    holders: Annotated[tuple[ProcessIdentity, ...], Field(min_length=1)]
    since: AwareDatetime
    expires: AwareDatetime

    def standing(self, observer: Observer) -> OwnerState:
        """Return the state of its owner: gone only if all its processes provably are."""
        found = {observer.standing(each, self.place) for each in self.holders}
        for standing in (OwnerState.LIVES, OwnerState.UNKNOWN):
            if standing in found:
                return standing
        return OwnerState.GONE


class ClaimFile:
    """The file of a lease. One process at a time reads and changes it (:meth:`exclusive`)."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other processes from changing the file; the lock is short.

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
        """Return the held lease, if any. Raises UserError for an invalid file."""
        try:
            with open(os.open(self.path, _READING), "rb") as file:  # noqa: PTH123 - flags
                return Claim.model_validate_json(file.read(_LONGEST))
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise UserError(
                f"the lease file {self.path} is not readable as a lease, so this machine may be "
                "in use; check its processes, then run `nightshift lease break --force`"
            ) from error

    def write(self, claim: Claim) -> None:
        """Write the lease. Raises UserError if that fails."""
        try:
            write_durably(self.path, claim.model_dump_json(indent=1))
        except OSError as error:
            raise self._unwritable(error) from error

    def remove(self) -> None:
        """Remove the lease. Raises UserError if that fails."""
        try:
            remove_durably(self.path)
        except OSError as error:
            raise self._unwritable(error) from error

    def _lock(self, guard: int) -> None:
        """Lock the guard. Every user may do so, and one that keeps it must not hang a night."""
        try:
            lock_descriptor(guard, PATIENCE)
        except LockHeldError as error:
            raise UserError(
                f"{error} has locked {self.path.with_suffix('.guard')} for more "
                f"than {PATIENCE:g} s, which nightshift does for a moment at a time; end "
                "that process, then run the same command again"
            ) from error

    def _unwritable(self, error: OSError) -> UserError:
        return UserError(
            f"the lease file {self.path} cannot be changed ({error.strerror}); its owner or "
            "root can run `nightshift lease break`"
        )


def _opened(guard: Path) -> int:
    """Open the lock file; create it if it is missing.

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
