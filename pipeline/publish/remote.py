"""Remote write: send samples to any receiver of Prometheus's protocol (version 1.0), in batches.

A batch is retried until it is accepted, so it may arrive twice: if the receiver fails before it
responds, it gets the batch again, and keeps one of two equal samples.
"""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import requests

from pipeline import __version__
from pipeline.publish.answer import ReceiverAnswer, one_line, retry_after
from pipeline.publish.credentials import Credentials
from pipeline.publish.deadline import DEADLINE, within
from pipeline.publish.samples import TimeSeries
from pipeline.publish.wire import body
from pipeline.text.errors import UserError, first_line

_LOG = logging.getLogger(__name__)


BATCH = 5000
"""Samples per request."""
TIMEOUT = 30.0
"""Timeout in seconds to connect, and to wait for a response."""
PATIENCE = 60.0
"""Total time in seconds that failed requests may take before a receiver counts as unreachable."""
FIRST_WAIT = 0.5
"""Approximate delay in seconds before the second attempt; doubled before each further one."""
LONGEST_WAIT = 30.0
"""Maximum delay in seconds between two attempts."""
SEARCHES = 5000
"""Maximum number of requests to find refused samples: enough to check each sample of a night."""
REASONS = 3
"""Maximum number of different reasons for refusals to report."""

_HEADERS = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
    "User-Agent": f"nightshift/{__version__}",
}
# These statuses concern the samples (409 is Thanos's); any other below 500 concerns our request.
_REFUSES_SAMPLES = frozenset({400, 409, 413, 422})
# Prometheus 2.42 responds to these with 500, for every retry.
_REFUSAL = re.compile("too old sample|out of bounds|out of order|duplicate sample|invalid sample")
_FULL = "no space left on device"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Written(NamedTuple):
    """How many samples a receiver accepted and refused so far.

    ``reasons`` are the receiver's messages about the first few refused samples.
    """

    sent: int = 0
    refused: int = 0
    reasons: tuple[str, ...] = ()


class RemoteWriteError(UserError):
    """Samples cannot be sent to a receiver; ``written`` says how many were sent before."""

    def __init__(self, message: str, written: Written) -> None:
        super().__init__(message)
        self.written = written


class RemoteWriter:
    """Sends samples to the receiver at ``url``.

    Transient failures (no connection, no response within ``timeout`` seconds, 5xx, 429) are retried
    with increasing delays, until they have cost ``patience`` seconds in total. A refused batch is
    halved until the refused samples are found, so that the others are accepted.

    ``certificate`` is whether to verify the receiver's certificate, or the file of the authority to
    verify it with. ``session`` is the connection, ``clock`` and ``sleep`` are the time, and
    ``jitter`` is a random number in [0, 1) that keeps many writers from retrying simultaneously;
    tests replace them. Raises UserError for an invalid address.
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
            raise UserError(
                f"{certificate} ([publish] certificate) is not a certificate file; name a PEM "
                "file, or leave the setting out"
            )
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
        """Send samples and return how many were accepted.

        Raises RemoteWriteError if the receiver is unreachable; further calls then fail immediately,
        without waiting again.
        """
        tally = _Tally()
        try:
            if self._unreachable:
                raise _OutOfReachError(self._unreachable)
            for batch in batches(series, self._batch):
                # A sample that cannot be encoded counts as refused, and is reported with its batch.
                self._refusal([_beginning(each) for each in batch])
                self._write(batch, tally)
        except _OutOfReachError as error:
            self._unreachable = str(error)
            raise RemoteWriteError(
                f"{self.name} {error}; the remaining samples are published the next time",
                tally.written(),
            ) from error
        return tally.written()

    def _write(self, batch: list[TimeSeries], tally: _Tally) -> None:
        """Send a batch of samples; if it is refused, send its halves."""
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
        """Send a batch until it is accepted (None) or refused (the receiver's reason)."""
        request = body(batch)
        wait = FIRST_WAIT
        while True:
            began = self._clock()
            answer = self._answer(request)
            if answer.taken:
                return None
            if _refuses_samples(answer):
                return answer.words or str(answer)
            if not answer.may_pass:
                raise _OutOfReachError(f"{answer}; {_advice(answer)}")
            pause = (0.5 + 0.5 * self._jitter()) * wait
            self._patience -= self._clock() - began
            if self._patience <= 0 or (answer.retry_after or 0) > self._patience:
                raise _OutOfReachError(f"{answer}; {_advice(answer)}")
            pause = min(answer.retry_after or pause, self._patience)
            _LOG.info("%s %s; retrying in %.0f s", self.name, answer, pause)
            self._sleep(pause)
            self._patience -= pause
            wait = min(2 * wait, LONGEST_WAIT)

    def _answer(self, request: bytes) -> ReceiverAnswer:
        deadline = self._timeout + DEADLINE
        try:
            return within(deadline, lambda: self._post(request))
        except TimeoutError as error:
            return ReceiverAnswer(0, str(error))

    def _post(self, request: bytes) -> ReceiverAnswer:
        try:
            with self._session.post(
                self._url,
                data=request,
                headers=_HEADERS,
                auth=self._credentials,
                timeout=self._timeout,
                verify=self._certificate,
                # A followed redirect would send the credentials to another host.
                allow_redirects=False,
                stream=True,
            ) as answer:
                content = next(answer.iter_content(4096), b"").decode("utf-8", "replace")
                return ReceiverAnswer(
                    answer.status_code, self._quoted(content), retry_after(answer.headers)
                )
        except requests.exceptions.SSLError as error:
            raise _OutOfReachError(
                f"has no trusted TLS certificate ({_reason(error)}); set [publish] certificate to "
                "the file with the certificate of its authority"
            ) from error
        except requests.Timeout:
            return ReceiverAnswer(0, f"did not answer within {self._timeout:g} s")
        except (OSError, ValueError) as error:
            # Exceptions of requests are OSErrors. Other libraries' exceptions appear for an
            # impossible host name, and for a missing certificate file that the environment names.
            return ReceiverAnswer(0, f"does not answer ({_reason(error)})")

    def _quoted(self, words: str) -> str:
        """Return a receiver's text as one line that is safe to print."""
        if self._credentials is not None:
            words = self._credentials.redact(words)
        return one_line(words)


def _beginning(series: TimeSeries) -> TimeSeries:
    """Return the first sample of a series, which is sent before all others.

    Prometheus (2.42 at least) collects garbage in memory while it accepts samples. A series created
    at that moment is collected together with its samples, although they were acknowledged. The
    second request finds the series, or creates it again; of equal samples one is kept.
    """
    return TimeSeries(series.labels, series.samples[:1])


class _OutOfReachError(Exception):
    """A receiver cannot be reached; the text says why and what to do."""


class _Tally:
    """Counts accepted and refused samples."""

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
    """Divide series, in order, into batches of ``most`` samples; the last one may be smaller.

    A series may span several batches.
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
    """Return a receiver's address for messages, without secrets.

    Raises UserError for an invalid address, and for one with credentials.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(
            "[publish] url is not the address of a remote-write receiver; write for example "
            "http://127.0.0.1:9090/api/v1/write"
        )
    if "@" in parts.netloc:
        raise UserError(
            f"[publish] url of {parts.hostname} contains credentials; put them into an "
            "environment variable and set secret to its name"
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path}"


def _session(url: str) -> requests.Session:
    session = requests.Session()
    # Environment proxies do not reach this machine's own ports.
    session.trust_env = urlsplit(url).hostname not in _LOOPBACK
    return session


def _refuses_samples(answer: ReceiverAnswer) -> bool:
    return answer.status in _REFUSES_SAMPLES or bool(
        answer.status >= 500 and _REFUSAL.search(answer.words)
    )


def _reason(error: BaseException) -> str:
    """Return the operating system's reason for a failed connection."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return seen.strerror
        seen = seen.__cause__ or seen.__context__
    return first_line(error)


def _advice(answer: ReceiverAnswer) -> str:
    if answer.status in (401, 403, 407):
        return "check the credentials in [publish]"
    if answer.status and not answer.may_pass:
        return "check that the address in [publish] receives remote writes"
    if _FULL in answer.words:
        # Until then Prometheus accepts samples of series that it failed to write to its log.
        return "free some space there and restart it"
    return "check that it runs, its log, and the address in [publish]"
