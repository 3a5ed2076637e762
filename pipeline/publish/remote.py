"""Remote write: samples to any receiver of Prometheus's protocol (version 1.0), in batches.

A batch is sent until it is taken, which may be twice: a receiver that took one and was gone before
it could say so gets it again, and keeps one of two equal samples.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterable, Iterator
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import requests

from pipeline import __version__
from pipeline.errors import UserError, first_line
from pipeline.publish.credentials import Credentials
from pipeline.publish.samples import TimeSeries
from pipeline.publish.wire import body

BATCH = 5000
"""Samples of one request."""
TIMEOUT = 30.0
"""Seconds to connect, and to wait for an answer."""
PATIENCE = 60.0
"""Seconds that failures may cost altogether before a receiver counts as out of reach."""
FIRST_WAIT = 0.5
"""Seconds before the second attempt, about; doubled before each further one."""
LONGEST_WAIT = 30.0
"""Seconds between two attempts, at most."""
SEARCHES = 5000
"""Requests that may be spent on finding refused samples: enough to look at each of a night's."""
REASONS = 3
"""How many different refusals are told."""
LONGEST_REASON = 200
"""Characters of a receiver's words that are told."""

_HEADERS = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
    "User-Agent": f"nightshift/{__version__}",
}
# These statuses are about the samples (409 is Thanos's); any other below 500 is about us.
_REFUSES_SAMPLES = frozenset({400, 409, 413, 422})
_BUSY = frozenset({408, 425, 429})
# Prometheus 2.42 answers 500 to these, and would for ever.
_REFUSAL = re.compile("too old sample|out of bounds|out of order|duplicate sample|invalid sample")
_FULL = "no space left on device"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Written(NamedTuple):
    """What became of samples, which are settled in the order in which they were given.

    ``reasons`` are the receiver's words about the first few that it refused.
    """

    sent: int = 0
    refused: int = 0
    reasons: tuple[str, ...] = ()


class UnreachableError(UserError):
    """The receiver cannot be written to. ``written`` is what was settled before."""

    def __init__(self, message: str, written: Written) -> None:
        super().__init__(message)
        self.written = written


class _Answer(NamedTuple):
    """An answer to a request, or the lack of one (``status`` 0), in words."""

    status: int
    words: str
    retry_after: float | None = None

    @property
    def taken(self) -> bool:
        return self.status // 100 == 2

    @property
    def refuses_samples(self) -> bool:
        return self.status in _REFUSES_SAMPLES or bool(
            self.status >= 500 and _REFUSAL.search(self.words)
        )

    @property
    def may_pass(self) -> bool:
        return not self.status or self.status in _BUSY or self.status >= 500

    def __str__(self) -> str:
        if not self.status:
            return self.words
        try:
            phrase = f" {HTTPStatus(self.status).phrase}"
        except ValueError:
            phrase = ""
        return f"answers {self.status}{phrase}" + (f" ({self.words})" if self.words else "")


class RemoteWriter:
    """Writes to the receiver at ``url``.

    Failures that may pass (no connection, no answer within ``timeout`` seconds, 5xx, 429) are
    tried again, later and later, until they have cost ``patience`` seconds altogether. A refused
    batch is halved until the refused samples are found, so that the others are taken.

    ``certificate`` is whether to check the receiver's, or the file of the authority to check it by.
    ``session`` is the connection, ``clock`` and ``sleep`` how time passes and ``jitter`` a random
    number in [0, 1), so that many writers do not come back at once; tests bring their own. Raises
    UserError for an address that is none.
    """

    def __init__(
        self,
        url: str,
        *,
        credentials: Credentials | None = None,
        certificate: bool | str = True,
        batch: int = BATCH,
        timeout: float = TIMEOUT,
        patience: float = PATIENCE,
        session: requests.Session | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.name = receiver_name(url)
        if isinstance(certificate, str) and not Path(certificate).is_file():
            raise UserError(f"{certificate}, which [publish] names, is no file of certificates")
        self._url = url
        self._credentials = credentials
        self._certificate = certificate
        self._batch = batch
        self._timeout = timeout
        self._patience = patience
        self._searches = SEARCHES
        self._session = session or _session(url)
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter
        self._unreachable = ""

    def write(self, series: Iterable[TimeSeries]) -> Written:
        """Send samples and return what became of them.

        Raises UnreachableError when the receiver cannot be had; then, and at once whenever it is
        asked again: one failure is waited for once.
        """
        tally = _Tally()
        try:
            if self._unreachable:
                raise _OutOfReachError(self._unreachable)
            for batch in batches(series, self._batch):
                # What is refused here is refused, and told of, with its batch.
                self._refusal([_beginning(each) for each in batch])
                self._write(batch, tally)
        except _OutOfReachError as error:
            self._unreachable = str(error)
            raise UnreachableError(
                f"{self.name} {error}; what it has not taken is published the next time",
                tally.written(),
            ) from error
        return tally.written()

    def _write(self, batch: list[TimeSeries], tally: _Tally) -> None:
        """Send a batch whole; if it is refused, its halves."""
        count = sum(len(series.samples) for series in batch)
        refusal = self._refusal(batch)
        if refusal is None:
            tally.sent += count
        elif count == 1 or self._searches < 2:
            tally.refuse(count, refusal)
        else:
            self._searches -= 2
            for half in batches(batch, -(-count // 2)):
                self._write(half, tally)

    def _refusal(self, batch: list[TimeSeries]) -> str | None:
        """Send a batch until it is taken (None) or refused: the receiver's words."""
        request = body(batch)
        wait = FIRST_WAIT
        while True:
            began = self._clock()
            answer = self._post(request)
            if answer.taken:
                return None
            if answer.refuses_samples:
                return answer.words or str(answer)
            if not answer.may_pass:
                raise _OutOfReachError(f"{answer}; {_advice(answer)}")
            pause = (0.5 + 0.5 * self._jitter()) * wait
            self._patience -= self._clock() - began
            if self._patience <= 0 or (answer.retry_after or 0) > self._patience:
                raise _OutOfReachError(f"{answer}; {_advice(answer)}")
            pause = min(answer.retry_after or pause, self._patience)
            self._sleep(pause)
            self._patience -= pause
            wait = min(2 * wait, LONGEST_WAIT)

    def _post(self, request: bytes) -> _Answer:
        try:
            with self._session.post(
                self._url,
                data=request,
                headers=_HEADERS,
                auth=self._credentials,
                timeout=self._timeout,
                verify=self._certificate,
                # Who is sent elsewhere would carry the credentials there.
                allow_redirects=False,
                stream=True,
            ) as answer:
                said = next(answer.iter_content(4096), b"").decode("utf-8", "replace")
                return _Answer(answer.status_code, self._quoted(said), _retry_after(answer))
        except requests.exceptions.SSLError as error:
            raise _OutOfReachError(
                f"cannot be spoken to in private ({_reason(error)}); name the authority of its "
                "certificate in [publish]"
            ) from error
        except requests.Timeout:
            return _Answer(0, f"does not answer within {self._timeout:g} s")
        except (OSError, ValueError) as error:
            # What requests raises is an OSError; of a host that cannot be one, and of a missing
            # file of certificates that the environment names, others' errors come through.
            return _Answer(0, f"does not answer ({_reason(error)})")

    def _quoted(self, words: str) -> str:
        """Return a receiver's words as one line that is fit to be shown."""
        if self._credentials is not None:
            words = self._credentials.struck_out_of(words)
        shown = "".join(each if each.isprintable() else " " for each in words)
        line = " ".join(shown.split())
        return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 3]}..."


def _beginning(series: TimeSeries) -> TimeSeries:
    """Return the first sample of a series, which is sent before them all.

    Prometheus (2.42 at least) collects the garbage of what it holds in memory while it takes
    samples, and a series that is new in that very moment is collected with the samples that came
    with it, though it says they were taken. Whoever comes a second time finds it, or makes it anew;
    of equal samples one is kept.
    """
    return TimeSeries(series.labels, series.samples[:1])


class _OutOfReachError(Exception):
    """What is wrong with the receiver, and what to do."""


class _Tally:
    """Counts what becomes of samples."""

    def __init__(self) -> None:
        self.sent = 0
        self._refused = 0
        self._reasons: list[str] = []

    def refuse(self, count: int, reason: str) -> None:
        self._refused += count
        if reason not in self._reasons and len(self._reasons) < REASONS:
            self._reasons.append(reason)

    def written(self) -> Written:
        return Written(self.sent, self._refused, tuple(self._reasons))


def batches(series: Iterable[TimeSeries], most: int) -> Iterator[list[TimeSeries]]:
    """Divide series, in their order, into batches of ``most`` samples; the last has what is left.

    A series may end in one batch and go on in the next.
    """
    batch: list[TimeSeries] = []
    room = most
    for labels, samples in series:
        begin = 0
        while begin < len(samples):
            part = samples[begin : begin + room]
            batch.append(TimeSeries(labels, part))
            begin += len(part)
            room -= len(part)
            if not room:
                yield batch
                batch, room = [], most
    if batch:
        yield batch


def receiver_name(url: str) -> str:
    """Return a receiver as messages call it: its address, of which no part is a secret.

    Raises UserError for an address that is none, and for one with credentials.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(
            "the address in [publish] is not one of a receiver of remote writes; one is "
            "http://127.0.0.1:9090/api/v1/write"
        )
    if "@" in parts.netloc:
        raise UserError(
            f"the address of {parts.hostname} in [publish] holds credentials; put them into an "
            "environment variable and name that"
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path}"


def _session(url: str) -> requests.Session:
    session = requests.Session()
    # A proxy that the environment names does not lead to this machine's own ports.
    session.trust_env = urlsplit(url).hostname not in _LOOPBACK
    return session


def _retry_after(answer: requests.Response) -> float | None:
    """Return how many seconds a receiver asks to wait: it tells them, or a time of its clock."""
    told = answer.headers.get("Retry-After", "")
    if told.strip().isdecimal():
        return float(told)
    try:
        until = parsedate_to_datetime(told)
        return max(0.0, (until - parsedate_to_datetime(answer.headers["Date"])).total_seconds())
    except (KeyError, OverflowError, TypeError, ValueError):
        return None


def _reason(error: BaseException) -> str:
    """Return what the operating system said, which other libraries wrap in many words."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return seen.strerror
        seen = seen.__cause__ or seen.__context__
    return first_line(error)


def _advice(answer: _Answer) -> str:
    if answer.status in (401, 403, 407):
        return "see that the credentials that [publish] names are right"
    if answer.status and not answer.may_pass:
        return "see that the address in [publish] is where it receives remote writes"
    if _FULL in answer.words:
        # Until then Prometheus takes samples of series that it could not write down.
        return "free some there and start it anew"
    return "see that it runs and what its log says, and that the address in [publish] is right"
