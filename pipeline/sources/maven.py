"""Maven Central as a source: a version is a jar, discovery is its metadata file.

The library ``maven-artifact`` knows where the registry is and how its files are named.
"""

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
from xml.etree import ElementTree

import requests
from maven_artifact import Artifact, Resolver

from pipeline.errors import UserError
from pipeline.sources.base import Fetched
from pipeline.sources.base.kept import keep, locked, storage_error, verified

ATTEMPTS = 3
"""How often one request is made before the source counts as out of reach."""
BACKOFF = 1.0
"""Seconds before the second attempt; doubled before each further one."""
TIMEOUT = (10.0, 60.0)
"""Seconds to connect, and between two pieces of an answer."""
CHECKSUMS = ("sha256", "sha512", "sha1")
"""Checksums that the registry publishes next to a file, the preferred one first: files from
before 2020 have only the last."""
LARGEST_METADATA = 4 << 20
"""Bytes of a metadata file beyond which it is not one."""
CHUNK = 1 << 16

log = logging.getLogger(__name__)
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+-]*")
_HEXADECIMAL = re.compile(r"[0-9a-f]+")
_T = TypeVar("_T")
_GONE = 404
_BUSY = (408, 429)
_SERVER_ERROR = 500


class _Missing(Exception):
    """The registry has no such file."""


class _Damaged(Exception):
    """What was received is not what was sent; worth another attempt."""


class MavenSource:
    """The versions of one artifact, and their jars.

    ``base`` is the address of the repository (by default that of Maven Central), ``session``
    the connection and ``sleep`` the wait between attempts; tests bring their own.
    """

    name = "Maven Central"

    def __init__(
        self,
        coordinates: str,
        *,
        base: str | None = None,
        session: requests.Session | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Serve the artifact ``coordinates``, written ``group:artifact``."""
        group, _, artifact = coordinates.partition(":")
        self._artifact = Artifact(group, artifact, None)
        self._base: str = base or Resolver.default().base
        self._session = session or requests.Session()
        self._session.headers["User-Agent"] = "nightshift (performance regression pipeline)"
        self._sleep = sleep

    def versions(self) -> tuple[str, ...]:
        """Return every version in the order of the metadata file."""
        address = f"{self._base}/{self._artifact.path(with_version=False)}/maven-metadata.xml"
        return self._attempts(
            lambda: parse_versions(self._small(address)),
            f"list of versions of {self._artifact.artifact_id}",
        )

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Return the jar of ``version``, from ``cache`` if its checksum still holds there."""
        if not _VERSION.fullmatch(version):
            raise UserError(f"{version!r} is not a version; discover lists those there are")
        artifact = self._artifact.with_version(version)
        path = cache / f"{artifact.artifact_id}-{version}.{artifact.extension}"
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with locked(path):
                sha256 = verified(path) or self._download(artifact, path)
        except OSError as error:
            raise storage_error(error, cache, path.name) from error
        return Fetched(path=path, locator=str(artifact), sha256=sha256)

    def _download(self, artifact: Artifact, path: Path) -> str:
        part = path.with_name(f".{path.name}.part")
        address = artifact.uri(self._base)
        try:
            sha256 = self._attempts(lambda: self._verified_part(address, part), path.name)
            keep(part, path, sha256)
        finally:
            part.unlink(missing_ok=True)
        return sha256

    def _verified_part(self, address: str, part: Path) -> str:
        """Download ``address`` into ``part`` and return its SHA-256, or raise."""
        kind, expected = self._checksum(address)
        published, ours = hashlib.new(kind), hashlib.sha256()
        with self._get(address) as answer, part.open("wb") as file:
            for chunk in answer.iter_content(CHUNK):
                published.update(chunk)
                ours.update(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        if published.hexdigest() != expected:
            raise _Damaged(f"its {kind} is not the published one")
        return ours.hexdigest()

    def _checksum(self, address: str) -> tuple[str, str]:
        """Return the best published checksum of a file: its kind and hexadecimal digits."""
        for kind in CHECKSUMS:
            try:
                text = self._small(f"{address}.{kind}").decode("ascii", "replace")
            except _Missing:
                continue
            digits = (text.split() or [""])[0].lower()
            whole = len(digits) == 2 * hashlib.new(kind).digest_size
            if not (whole and _HEXADECIMAL.fullmatch(digits)):
                raise _Damaged(f"its published {kind} is not one")
            return kind, digits
        # Every file of the registry has a checksum, so without one there is no file.
        raise _Missing

    def _small(self, address: str) -> bytes:
        with self._get(address) as answer:
            body = b""
            for chunk in answer.iter_content(CHUNK):
                body += chunk
                if len(body) > LARGEST_METADATA:
                    raise _Damaged("an answer is far too large")
            return body

    @contextmanager
    def _get(self, address: str) -> Iterator[requests.Response]:
        # Not compressed: what is counted and hashed is then what was published.
        headers = {"Accept-Encoding": "identity"}
        with self._session.get(address, stream=True, timeout=TIMEOUT, headers=headers) as answer:
            if answer.status_code == _GONE:
                raise _Missing
            answer.raise_for_status()
            yield answer

    def _attempts(self, ask: Callable[[], _T], what: str) -> _T:
        """Return what ``ask`` does, asked again politely while the failure may pass."""
        wait = BACKOFF
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return ask()
            except _Missing as error:
                raise UserError(
                    f"{self.name} has no {what}; nightshift discover --refresh lists what it has"
                ) from error
            except (requests.RequestException, _Damaged) as error:
                if attempt == ATTEMPTS or not _may_pass(error):
                    raise UserError(self._complaint(error, what)) from error
                log.info("%s; asking again in %.0f s", self._complaint(error, what), wait)
                self._sleep(wait)
                wait *= 2
        raise AssertionError("the last attempt returns or raises")

    def _complaint(self, error: Exception, what: str) -> str:
        if isinstance(error, _Damaged):
            return f"{self.name} sent a damaged {what} ({error}); run again later"
        if isinstance(error, requests.HTTPError) and error.response is not None:
            return f"{self.name} answered {error.response.status_code} for {what}; run again later"
        return (
            f"{self.name} cannot be reached for {what} ({_reason(error)}); "
            "check the network and run again"
        )


def parse_versions(metadata: bytes) -> tuple[str, ...]:
    """Return the versions that a maven-metadata.xml lists, in its order.

    A document type declaration is refused: it is never needed, and entities are how a small
    XML file becomes a large one.
    """
    if b"<!" in metadata.replace(b"<!--", b""):
        raise _Damaged("its metadata declares a document type")
    try:
        root = ElementTree.fromstring(metadata)  # noqa: S314 - no declarations left
    except ElementTree.ParseError as error:
        raise _Damaged(f"its metadata is no XML: {error}") from error
    listed = (element.text or "" for element in root.iterfind("versioning/versions/version"))
    versions = tuple(text.strip() for text in listed)
    if not versions:
        raise _Damaged("its metadata lists no versions")
    return versions


def _may_pass(error: Exception) -> bool:
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return error.response.status_code in _BUSY or error.response.status_code >= _SERVER_ERROR
    return True


def _reason(error: Exception) -> str:
    """Say in two words why there was no connection; the library says it in two hundred."""
    kinds = (
        (requests.exceptions.ProxyError, "the proxy refused"),
        (requests.exceptions.SSLError, "no trusted TLS connection"),
        (requests.Timeout, "timed out"),
        (requests.exceptions.ChunkedEncodingError, "the connection broke off"),
    )
    return next((text for kind, text in kinds if isinstance(error, kind)), "no connection")
