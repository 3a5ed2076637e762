"""The lease of a machine: whoever measures has it, and nobody else measures meanwhile.

It belongs to the machine, whatever checkout, cache or results folder is measured from. It is broken
only when its owner is provably gone; one that has expired and whose owner lives is told.
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

from pipeline.errors import UserError
from pipeline.machine.claim import Claim, ClaimFile
from pipeline.machine.owner import Observer, Standing, plain
from pipeline.machine.places import lease_file

TTL = timedelta(minutes=15)
"""How long a lease lasts from when it was last renewed. One that is held is renewed three times
in that: seldom enough to disturb no measurement."""

POLL = 5.0
"""Seconds between two looks at a lease that is waited for."""

INHERITED = "NIGHTSHIFT_LEASE"
"""Environment variable with the token of the lease that a process was started under."""


class HeldError(UserError):
    """Somebody else has the lease, or may have it."""


def _now() -> datetime:
    return datetime.now(UTC)


class Lease:
    """The lease of a machine, to be taken by this process. Taken twice it is given back once."""

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
        """Take a lease for a ``purpose``, or join the one that was ``inherited``, by its token."""
        self.file = file
        self.observer = observer or Observer()
        self.token = ""
        self._purpose, self._inherited = plain(purpose), inherited
        self._clock, self._sleep = clock, sleep
        self._depth = 0

    @contextmanager
    def held(
        self, wait: float = 0.0, told: Callable[[str], None] = lambda _: None
    ) -> Iterator[None]:
        """Have the lease, waiting at most so many seconds for another to give it back.

        Raises HeldError while another has it, and UserError where it was taken from us meanwhile
        by force: what was measured then may have been disturbed.
        """
        if not self._depth:
            self._take_within(wait, told)
        self._depth += 1
        try:
            with self._renewed():
                yield
        except BaseException:
            self._give_back()
            raise
        if not self._give_back():
            raise UserError(
                "the lease of this machine was broken by force while it was held; what was "
                "measured since may have been disturbed"
            )

    def renew(self) -> bool:
        """Put off the expiry; say whether the lease is still ours."""
        with self.file.alone():
            claim = self.file.read()
            if claim is None or claim.token != self.token:
                return False
            self.file.write(claim.model_copy(update={"expires": self._clock() + TTL}))
            return True

    def break_(self, *, force: bool = False) -> Claim | None:
        """Remove the lease and return it; None if nobody had it.

        Raises HeldError, unless by ``force``, while its owner lives or may live: of one that
        cannot be seen from here nothing is known until the lease has expired.
        """
        with self.file.alone():
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
            lost = standing is Standing.UNKNOWN and self.expired(claim)
            if not force and standing is not Standing.GONE and not lost:
                raise HeldError(f"{self.told(claim)}; `--force` breaks the lease all the same")
            self.file.remove()
            return claim

    def expired(self, claim: Claim) -> bool:
        """Say whether nobody has renewed a lease in time."""
        return claim.expires < self._clock()

    def told(self, claim: Claim) -> str:
        """Say in one line who has a lease, and what to do."""
        process = claim.holders[0].pid
        if claim.standing(self.observer) is Standing.UNKNOWN:
            return (
                f"nightshift (process {process} of {claim.place.host}) has the lease of this "
                f"machine for {claim.purpose} and cannot be seen from here; wait for it to end, or "
                "run `nightshift lease break` when the lease has expired, "
                f"{_moment(claim.expires)}"
            )
        hangs = (
            f"; it lives, and has not renewed its lease since {_moment(claim.expires - TTL)}: "
            "does it hang?"
            if self.expired(claim)
            else ""
        )
        return (
            f"another nightshift (process {process}) is measuring on this machine; wait for "
            f"{claim.purpose} to end, or stop it{hangs}"
        )

    def _take_within(self, wait: float, told: Callable[[str], None]) -> None:
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
                    told(f"waiting: {error}")
                waiting = True
                self._sleep(min(POLL, left))

    def _take(self) -> None:
        with self.file.alone():
            claim, me = self.file.read(), self.observer.me()
            if claim is not None and self._is_inherited(claim):
                claim = claim.model_copy(update={"holders": (*claim.holders, me)})
            elif claim is not None and claim.standing(self.observer) is not Standing.GONE:
                raise HeldError(self.told(claim))
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
        """Say whether we were started under a lease, where its processes can be seen."""
        ours = bool(self._inherited) and claim.token == self._inherited
        return ours and claim.place == self.observer.place()

    def _give_back(self) -> bool:
        """Give the lease back; say whether it was still ours."""
        self._depth -= 1
        if self._depth:
            return True
        with self.file.alone():
            claim = self.file.read()
            if claim is None or claim.token != self.token:
                return False
            others = list(claim.holders)
            others.remove(self.observer.me())
            if others:
                self.file.write(claim.model_copy(update={"holders": tuple(others)}))
            else:
                self.file.remove()
            return True

    @contextmanager
    def _renewed(self) -> Iterator[None]:
        """Renew the lease while this is entered."""
        if self._depth > 1:
            yield
            return
        ended = Event()

        def renew() -> None:
            while not ended.wait(TTL.total_seconds() / 3):
                # What hinders it is told when the lease is given back.
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
    """Return the lease of this machine, by default for the verb of the command line."""
    verb = " ".join(["nightshift", *sys.argv[1:2]])
    return Lease(ClaimFile(lease_file()), purpose or verb, inherited=os.environ.get(INHERITED, ""))


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
