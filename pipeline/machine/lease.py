"""The lease of a machine: one process may measure, and all others wait or refuse.

The lease belongs to the machine, regardless of checkout, cache or results folder. It is broken only
if its owner is provably gone. An expired lease of a living owner is reported.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

from pipeline.machine.lease_record import Claim, ClaimFile
from pipeline.machine.paths import lease_file
from pipeline.machine.process_owner import Observer, OwnerState, plain
from pipeline.text.errors import UserError

TTL = timedelta(minutes=15)
"""How long a lease lasts after its last renewal. The holder renews it three times in that period,
which is rare enough not to disturb a measurement."""

POLL = 5.0
"""Seconds between two attempts to take a lease."""

INHERITED = "NIGHTSHIFT_LEASE"
"""Environment variable with the token of the lease that a process was started under."""


class HeldError(UserError):
    """Another process holds the lease of this machine, or may hold it."""


def _now() -> datetime:
    return datetime.now(UTC)


class Lease:
    """The lease of a machine, for this process to take (more than once), renew and release."""

    def __init__(
        self,
        file: ClaimFile,
        purpose: str,
        *,
        observer: Observer | None = None,
        inherited: str = "",
        clock: Callable[[], datetime] = _now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Prepare to take the lease, or to join the lease of the process that started us."""
        self.file = file
        self.observer = observer or Observer()
        self.token = ""
        self._purpose, self._inherited = plain(purpose), inherited
        self._clock, self._sleep = clock, sleep
        self._depth = 0

    @contextmanager
    def held(
        self, wait: float = 0.0, note: Callable[[str], None] = lambda _: None
    ) -> Iterator[None]:
        """Hold the lease while the block runs; wait at most ``wait`` seconds for it.

        Raises HeldError while another process has it, and UserError if the lease was broken by
        force meanwhile: measurements since then may have been disturbed.
        """
        if not self._depth:
            self._take_within(wait, note)
        self._depth += 1
        try:
            with self._renewed():
                yield
        except BaseException:
            self._release()
            raise
        if not self._release():
            raise UserError(
                "another process broke the lease of this machine by force; runs since then may "
                "be disturbed: run the same command again"
            )

    def renew(self) -> bool:
        """Extend the time after which the lease expires; return whether it is still ours."""
        with self.file.exclusive():
            claim = self.file.read()
            if claim is None or claim.token != self.token:
                return False
            self.file.write(claim.model_copy(update={"expires": self._clock() + TTL}))
            return True

    def break_(self, *, force: bool = False) -> Claim | None:
        """Remove the lease of this machine, and return it; None if nobody holds it.

        Without ``force``, raises HeldError while its owner lives or may live. An owner that is not
        visible from here may live until the lease has expired.
        """
        with self.file.exclusive():
            try:
                claim = self.file.read()
            except UserError:
                if not force:
                    raise
                claim = None
                self.file.remove()
            if claim is None:
                return None
            standing = claim.standing(self.observer)
            lost = standing is OwnerState.UNKNOWN and self.expired(claim)
            if not force and standing is not OwnerState.GONE and not lost:
                raise HeldError(f"{self.describe(claim)}; `--force` breaks the lease anyway")
            self.file.remove()
            return claim

    def expired(self, claim: Claim) -> bool:
        """Return whether the holder of a lease failed to renew it in time."""
        return claim.expires < self._clock()

    def describe(self, claim: Claim) -> str:
        """Describe in one line who holds a lease, and what a user can do."""
        process = claim.holders[0].pid
        if claim.standing(self.observer) is OwnerState.UNKNOWN:
            return (
                f"nightshift (process {process} of {claim.place.host}) holds the lease of this "
                f"machine for {claim.purpose}, and whether it still runs is unknown; wait for "
                "it to end, or run `nightshift lease break` after the lease expires, "
                f"{_moment(claim.expires)}"
            )
        hangs = (
            f"; it runs but has not renewed its lease since {_moment(claim.expires - TTL)}, so "
            "it may hang"
            if self.expired(claim)
            else ""
        )
        return (
            f"another nightshift (process {process}) is measuring on this machine; wait for "
            f"{claim.purpose} to end, or stop it{hangs}"
        )

    def _take_within(self, wait: float, note: Callable[[str], None]) -> None:
        until = self._clock() + timedelta(seconds=wait)
        waiting = False
        while True:
            try:
                return self._take()
            except HeldError as error:
                left = (until - self._clock()).total_seconds()
                if left <= 0:
                    raise
                if not waiting:
                    note(f"waiting: {error}")
                waiting = True
                self._sleep(min(POLL, left))

    def _take(self) -> None:
        with self.file.exclusive():
            claim, me = self.file.read(), self.observer.current_process()
            if claim is not None and self._is_inherited(claim):
                claim = claim.model_copy(update={"holders": (*claim.holders, me)})
            elif claim is not None and claim.standing(self.observer) is not OwnerState.GONE:
                raise HeldError(self.describe(claim))
            else:
                now = self._clock()
                claim = Claim(
                    token=secrets.token_hex(8),
                    purpose=self._purpose,
                    place=self.observer.place(),
                    holders=(me,),
                    since=now,
                    expires=now + TTL,
                )
            self.file.write(claim)
            self.token = claim.token

    def _is_inherited(self, claim: Claim) -> bool:
        """Return whether the process that started us holds the lease for us."""
        ours = bool(self._inherited) and claim.token == self._inherited
        return ours and claim.place == self.observer.place()

    def _release(self) -> bool:
        """Give up the lease; return whether it was still ours."""
        self._depth -= 1
        if self._depth:
            return True
        with self.file.exclusive():
            claim = self.file.read()
            if claim is None or claim.token != self.token:
                return False
            others = list(claim.holders)
            others.remove(self.observer.current_process())
            if others:
                self.file.write(claim.model_copy(update={"holders": tuple(others)}))
            else:
                self.file.remove()
            return True

    @contextmanager
    def _renewed(self) -> Iterator[None]:
        """Keep renewing the lease in a thread while the block runs."""
        if self._depth > 1:
            yield
            return
        ended = Event()

        def renew() -> None:
            while not ended.wait(TTL.total_seconds() / 3):
                # _release reports the problem.
                with suppress(UserError):
                    self.renew()

        thread = Thread(target=renew, name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def machine_lease(purpose: str = "") -> Lease:
    """Return the lease of this machine, for the command that the user called."""
    verb = " ".join(["nightshift", *sys.argv[1:2]])
    return Lease(ClaimFile(lease_file()), purpose or verb, inherited=os.environ.get(INHERITED, ""))


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
