"""Download files from a web site, with retries, verified by checksum."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import requests

from pipeline.sources.base.persistence import keep, kept
from pipeline.text.errors import UserError

ATTEMPTS = 3
"""Attempts of a request before the source counts as unreachable."""
BACKOFF = 1.0
"""Seconds before the second attempt; doubled before each further one."""
TIMEOUT = (10.0, 60.0)
"""Seconds to wait for a connection, and for the next piece of an answer."""
CHECKSUMS = ("sha256", "sha512", "sha1")
"""Checksums that sites publish next to a file, the preferred one first. Files of Maven Central from
before 2020 have only SHA-1."""
LISTS = ("sha256sums.txt", "SHA256SUMS")
"""Files that list the SHA-256 of every file in their folder, which some sites publish instead."""
LARGEST_LIST = 4 << 20
"""Size in bytes beyond which a file cannot be a list of versions or checksums."""
CHUNK = 1 << 16

log = logging.getLogger(__name__)
_HEXADECIMAL = re.compile(r"[0-9a-f]+")
_T = TypeVar("_T")
_GONE = 404
_BUSY = (408, 429)
_SERVER_ERROR = 500


class MissingError(Exception):
    """The web site does not have a file."""


class DamagedError(Exception):
    """A download is damaged; another attempt may succeed."""


class Site:
    """A web site to download from; messages call it by ``name``.

    ``session`` is the connection and ``sleep`` the wait between attempts; tests pass their own.
    """

    def __init__(
        self,
        name: str,
        session: requests.Session | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self._session = session or requests.Session()
        self._session.headers["User-Agent"] = "nightshift (performance regression pipeline)"
        self._sleep = sleep

    def ask(self, address: str, what: str, read: Callable[[bytes], _T]) -> _T:
        """Download a small file, and return what ``read`` parses from its content."""
        return self._attempts(lambda: read(self._small(address)), what)

    def download(self, address: str, path: Path, expected: str = "") -> str:
        """Download a file and verify its checksum; return its SHA-256.

        ``expected`` is the SHA-256 that it must have, by default the checksum that the site has.
        """
        return kept(path, lambda: self._download(address, path, expected))

    def _download(self, address: str, path: Path, expected: str) -> str:
        part = path.with_name(f".{path.name}.part")
        try:
            sha256 = self._attempts(lambda: self._verified_part(address, part, expected), path.name)
            keep(part, path, sha256)
        finally:
            part.unlink(missing_ok=True)
        return sha256

    def _verified_part(self, address: str, part: Path, sha256: str) -> str:
        """Download a file and return its SHA-256. Raises DamagedError if it is damaged."""
        kind, expected = ("sha256", sha256) if sha256 else self._checksum(address)
        published, ours = hashlib.new(kind), hashlib.sha256()
        with self._get(address) as answer, part.open("wb") as file:
            for chunk in answer.iter_content(CHUNK):
                published.update(chunk)
                ours.update(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        if published.hexdigest() != expected:
            whose = "expected" if sha256 else "published"
            raise DamagedError(f"its {kind} differs from the {whose} one")
        return ours.hexdigest()

    def _checksum(self, address: str) -> tuple[str, str]:
        """Return the best checksum that the web site publishes for a file: algorithm and digits."""
        for kind in CHECKSUMS:
            try:
                text = self._small(f"{address}.{kind}").decode("ascii", "replace")
            except MissingError:
                continue
            digits = (text.split() or [""])[0].lower()
            whole = len(digits) == 2 * hashlib.new(kind).digest_size
            if not (whole and _HEXADECIMAL.fullmatch(digits)):
                raise DamagedError(f"its published {kind} is malformed")
            return kind, digits
        folder, _, name = address.rpartition("/")
        for listed in LISTS:
            try:
                text = self._small(f"{folder}/{listed}").decode("ascii", "replace")
            except MissingError:
                continue
            for line in text.splitlines():
                digits, _, of = line.partition(" ")
                if of.strip().lstrip("*").removeprefix("./") == name:
                    return "sha256", digits.lower()
        # A file without a checksum cannot be verified, so it counts as missing.
        raise MissingError

    def _small(self, address: str) -> bytes:
        with self._get(address) as answer:
            body = b""
            for chunk in answer.iter_content(CHUNK):
                body += chunk
                if len(body) > LARGEST_LIST:
                    raise DamagedError("the response is far too large")
            return body

    @contextmanager
    def _get(self, address: str) -> Iterator[requests.Response]:
        # Not compressed, so that size and hash are those of the published file.
        headers = {"Accept-Encoding": "identity"}
        with self._session.get(address, stream=True, timeout=TIMEOUT, headers=headers) as answer:
            if answer.status_code == _GONE:
                raise MissingError
            answer.raise_for_status()
            yield answer

    def _attempts(self, ask: Callable[[], _T], what: str) -> _T:
        """Call ``ask`` until it succeeds; retry temporary failures with increasing delays."""
        wait = BACKOFF
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return ask()
            except MissingError as error:
                raise UserError(
                    f"{self.name} has no {what}; `nightshift discover --refresh` lists its versions"
                ) from error
            except (requests.RequestException, DamagedError) as error:
                if attempt == ATTEMPTS or not _may_pass(error):
                    raise UserError(self._complaint(error, what)) from error
                log.info("%s; retrying in %.0f s", self._complaint(error, what), wait)
                self._sleep(wait)
                wait *= 2
        raise AssertionError("the last attempt returns or raises")

    def _complaint(self, error: Exception, what: str) -> str:
        if isinstance(error, DamagedError):
            return f"{self.name} sent a damaged {what} ({error}); run again later"
        if isinstance(error, requests.HTTPError) and error.response is not None:
            return f"{self.name} answered {error.response.status_code} for {what}; run again later"
        return (
            f"{self.name} cannot be reached for {what} ({_reason(error)}); "
            "check the network and run again"
        )


def _may_pass(error: Exception) -> bool:
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return error.response.status_code in _BUSY or error.response.status_code >= _SERVER_ERROR
    return True


def _reason(error: Exception) -> str:
    """Return in a few words why a connection failed."""
    kinds = (
        (requests.exceptions.ProxyError, "the proxy refused the connection"),
        (requests.exceptions.SSLError, "no trusted TLS connection"),
        (requests.Timeout, "timed out"),
        (requests.exceptions.ChunkedEncodingError, "the connection was closed"),
    )
    return next((text for kind, text in kinds if isinstance(error, kind)), "no connection")
