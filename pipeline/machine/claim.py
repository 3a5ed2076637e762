"""The lease of a machine as it is written down: who has it, what for, and until when."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, Field, ValidationError

from pipeline.durable import remove_durably, write_durably
from pipeline.errors import UserError
from pipeline.machine.owner import Observer, Place, Plain, Process, Standing
from pipeline.model import Frozen

_READING = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""How files are opened that may be another user's: no link is followed, no pipe is waited for."""

_LONGEST = 100_000
"""Bytes of a lease that are read."""


class Claim(Frozen):
    """A lease that somebody has.

    ``holders`` are its processes: the first took it, the others were started under it and keep
    it for as long as they live. ``token`` is what tells it from any other.
    """

    token: str
    purpose: Plain
    place: Place
    holders: Annotated[tuple[Process, ...], Field(min_length=1)]
    since: AwareDatetime
    expires: AwareDatetime

    def standing(self, observer: Observer) -> Standing:
        """Say whether anybody has it: it is gone when all of its processes provably are."""
        found = {observer.standing(each, self.place) for each in self.holders}
        for standing in (Standing.LIVES, Standing.UNKNOWN):
            if standing in found:
                return standing
        return Standing.GONE


class ClaimFile:
    """The file of a lease. It is read and changed by one process at a time (:meth:`alone`)."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from changing it meanwhile, which takes them no longer than that.

        The kernel lets go of it when we are killed. Raises UserError where no lease can be kept.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            guard = _opened(self.path.with_suffix(".guard"))
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            fcntl.flock(guard, fcntl.LOCK_EX)
            yield
        finally:
            os.close(guard)

    def read(self) -> Claim | None:
        """Return who has the lease. Raises UserError for a file that cannot be understood."""
        try:
            with open(os.open(self.path, _READING), "rb") as file:  # noqa: PTH123 - flags
                return Claim.model_validate_json(file.read(_LONGEST))
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise UserError(
                f"the lease {self.path} cannot be understood, so nobody knows whether this machine "
                "is in use; look at what runs here, then `nightshift lease break --force`"
            ) from error

    def write(self, claim: Claim) -> None:
        """Write who has it. Raises UserError where that cannot be."""
        try:
            write_durably(self.path, claim.model_dump_json(indent=1))
        except OSError as error:
            raise self._unwritable(error) from error

    def remove(self) -> None:
        """Let nobody have it. Raises UserError where that cannot be."""
        try:
            remove_durably(self.path)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> UserError:
        return UserError(
            f"the lease {self.path} cannot be changed ({error.strerror}); if another user left it, "
            "that one or root may run `nightshift lease break`"
        )


def _opened(guard: Path) -> int:
    """Open the file that is locked, making it where there is none.

    It may be another user's, in a folder for everyone: such a file is opened and never made, as
    the kernel refuses what could be a trap (fs.protected_regular).
    """
    while True:
        try:
            return os.open(guard, _READING)
        except FileNotFoundError:
            try:
                return os.open(guard, _READING | os.O_CREAT | os.O_EXCL, 0o644)
            except FileExistsError:
                continue
