"""A bucket of an object storage that speaks S3, as Hetzner's, Ceph's, MinIO's or Amazon's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from pipeline.errors import first_line
from pipeline.mistakes import ENDPOINT
from pipeline.transfer.places.base import (
    Access,
    ChangedError,
    Entry,
    Listing,
    PlaceError,
    counted_in,
    part,
)

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ClientConfig

_ADDRESS = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>.*))?")
_PREFIX = re.compile(r"[A-Za-z0-9._+=#@-]+(/[A-Za-z0-9._+=#@-]+)*")

_RANGE = 8 << 20
"""Bytes asked for at a time, and sent at a time: what is lost where a line breaks."""

_PATIENCE = timedelta(seconds=120)
"""Time for one request: a range over a line of 1 Mbit/s takes 67 s."""

_STATUSES = (
    ("401 Unauthorized", "its keys are refused; see what they may do with the bucket"),
    ("403 Forbidden", "its keys are refused; see what they may do with the bucket"),
    ("404 Not Found", "there is no such bucket, or no such file in it"),
)
"""What an answer means: the client puts its status into a line that names the whole request."""

_RETRIES = 4
"""How often a request is repeated that a server fails to answer, with pauses that double."""


class S3Place:
    """``s3://bucket/prefix``, asked with the keys that variables of the environment hold."""

    def __init__(self, address: str, access: Access) -> None:
        """Prepare; nothing is asked yet. Raises PlaceError for what cannot be asked."""
        found = _ADDRESS.fullmatch(address)
        prefix = (found["prefix"] or "").rstrip("/") if found else ""
        parts = prefix.split("/")
        if found is None or (prefix and not _PREFIX.fullmatch(prefix)) or {".", ".."} & {*parts}:
            raise PlaceError(address, "is no place: write s3://bucket/prefix")
        self.name = address.rstrip("/")
        self._prefix = prefix
        key, secret = (
            self._variable(access, name) for name in (access.key_variable, access.signing_variable)
        )
        told = (
            access.environment.get(name) for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
        )
        endpoint = access.endpoint or next(filter(None, told), "")
        region = access.region or access.environment.get("AWS_REGION", "")
        if not endpoint and not region:
            raise PlaceError(
                self.name,
                "has no endpoint: set s3.endpoint in nightshift.toml, as "
                '"https://fsn1.your-objectstorage.com"',
            )
        if not re.fullmatch(ENDPOINT, endpoint):
            raise PlaceError(
                self.name, f"has the endpoint {endpoint}, which is no https:// address"
            )
        options: ClientConfig = {
            "connect_timeout": timedelta(seconds=20),
            "timeout": _PATIENCE,
            "allow_http": endpoint.startswith("http://"),
        }
        self._store = S3Store(
            found["bucket"],
            # Another variable of the environment must not send the keys anywhere else.
            config={
                "access_key_id": key,
                "secret_access_key": secret,
                "region": region or "us-east-1",
                "virtual_hosted_style_request": False,
                **({"endpoint": endpoint.rstrip("/")} if endpoint else {}),
            },
            client_options=options,
            retry_config={"max_retries": _RETRIES, "retry_timeout": 2 * _PATIENCE},
        )

    def look(self, folder: str = "") -> Listing:
        """Return what is in a folder; nothing for one that is not there."""
        path = self._key(folder)
        with self._saying("cannot be listed"):
            found = obstore.list_with_delimiter(self._store, path or None)
        counted_in(self.name, folder, len(found["objects"]))
        files = {self._part(each["path"], path): _entry(each) for each in found["objects"]}
        folders = {self._part(each, path) for each in found["common_prefixes"]}
        return Listing(files, frozenset(folders))

    def read(self, name: str, entry: Entry, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes of a file from ``start`` on. Raises ChangedError."""
        for begin in range(start, entry.size, _RANGE):
            end = min(begin + _RANGE, entry.size)
            try:
                with self._saying(f"does not give {name}"):
                    got = obstore.get(self._store, self._key(name), options={"range": (begin, end)})
                    now, data = _entry(got.meta), bytes(got.bytes())
            except PlaceError as error:
                if isinstance(error.__cause__, FileNotFoundError):
                    raise ChangedError(self.name, f"has no {name} any more") from error.__cause__
                raise
            if now != entry:
                raise ChangedError(self.name, f"has another {name} than it listed")
            if len(data) != end - begin:
                raise ChangedError(self.name, f"has a shorter {name} than it listed")
            yield data

    def write(self, name: str, source: Path) -> None:
        """Put a file there: an object is seen whole or not at all."""
        with self._saying(f"does not take {name}"):
            obstore.put(self._store, self._key(name), source, chunk_size=_RANGE, max_concurrency=2)

    def remove(self, name: str) -> None:
        """Remove a file."""
        with self._saying(f"does not remove {name}"):
            obstore.delete(self._store, self._key(name))

    def __enter__(self) -> Self:
        """Use the bucket."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close nothing: connections are the client's own."""

    def _variable(self, access: Access, variable: str) -> str:
        value = access.environment.get(variable, "")
        if not value:
            raise PlaceError(self.name, f"needs a key: set {variable} in the environment")
        return value

    def _key(self, name: str) -> str:
        return "/".join(each for each in (self._prefix, name) if each)

    def _part(self, key: str, folder: str) -> str:
        return part(self.name, key.removeprefix(f"{folder}/" if folder else ""))

    @contextmanager
    def _saying(self, what: str) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            told = first_line(error)
            why = next((words for status, words in _STATUSES if status in told), told[:300])
            raise PlaceError(self.name, f"{what}: {why}") from error


def _entry(found: ObjectMeta) -> Entry:
    # Not every storage tags what it did not receive itself; a moment is told to the second.
    return Entry(found["size"], found["e_tag"] or str(int(found["last_modified"].timestamp())))
