"""Object storage (S3) as a place for transfers, such as that of Hetzner, Ceph, MinIO or Amazon."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from pipeline.config.config_errors import ENDPOINT
from pipeline.text.errors import first_line
from pipeline.transfer.places.base import (
    Access,
    ChangedError,
    FileEntry,
    Listing,
    Place,
    PlaceError,
    check_file_count,
    part,
)

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ClientConfig

_ADDRESS = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>.*))?")
_PREFIX = re.compile(r"[A-Za-z0-9._+=#@-]+(/[A-Za-z0-9._+=#@-]+)*")

_RANGE = 8 << 20
"""Bytes per request: the amount lost when a connection breaks."""

_PATIENCE = timedelta(seconds=120)
"""Timeout of one request: a range over a line of 1 Mbit/s takes 67 s."""

_STATUSES = (
    ("401 Unauthorized", "its keys are refused; check their permissions for the bucket"),
    ("403 Forbidden", "its keys are refused; check their permissions for the bucket"),
    ("404 Not Found", "the bucket, or the file in it, does not exist"),
)
"""Explanations of response statuses, by the text of the S3 client's error."""

_RETRIES = 4
"""Number of retries after a server error; each delay is twice the one before."""


class S3Place(Place):
    """A bucket of object storage, ``s3://bucket/prefix``."""

    def __init__(self, address: str, access: Access) -> None:
        """Check the address and the keys. Raises PlaceError if they are not usable."""
        found = _ADDRESS.fullmatch(address)
        prefix = (found["prefix"] or "").rstrip("/") if found else ""
        parts = prefix.split("/")
        if found is None or (prefix and not _PREFIX.fullmatch(prefix)) or {".", ".."} & {*parts}:
            raise PlaceError(address, "is not a valid place: write s3://bucket/prefix")
        self.name = address.rstrip("/")
        self._prefix = prefix
        key, secret = (
            self._variable(access, name) for name in (access.key_variable, access.signing_variable)
        )
        reported = (
            access.environment.get(name) for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
        )
        endpoint = access.endpoint or next(filter(None, reported), "")
        region = access.region or access.environment.get("AWS_REGION", "")
        if not endpoint and not region:
            raise PlaceError(
                self.name,
                "has no endpoint: set s3.endpoint in nightshift.toml, for example to "
                '"https://fsn1.your-objectstorage.com"',
            )
        if not re.fullmatch(ENDPOINT, endpoint):
            raise PlaceError(
                self.name, f"has the endpoint {endpoint}, which is not an https:// address"
            )
        options: ClientConfig = {
            "connect_timeout": timedelta(seconds=20),
            "timeout": _PATIENCE,
            "allow_http": endpoint.startswith("http://"),
        }
        self._store = S3Store(
            found["bucket"],
            # No other environment variable may redirect the keys to another server.
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
        """Return the content of a folder of the bucket; empty if it does not exist."""
        path = self._key(folder)
        with self._place_errors("cannot be listed"):
            found = obstore.list_with_delimiter(self._store, path or None)
        check_file_count(self.name, folder, len(found["objects"]))
        files = {self._part(each["path"], path): _entry(each) for each in found["objects"]}
        folders = {self._part(each, path) for each in found["common_prefixes"]}
        return Listing(files, frozenset(folders))

    def read(self, name: str, entry: FileEntry, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes of a file from ``start`` on. Raises ChangedError if the file changed."""
        for begin in range(start, entry.size, _RANGE):
            end = min(begin + _RANGE, entry.size)
            try:
                with self._place_errors(f"cannot read {name}"):
                    got = obstore.get(self._store, self._key(name), options={"range": (begin, end)})
                    now, data = _entry(got.meta), bytes(got.bytes())
            except PlaceError as error:
                if isinstance(error.__cause__, FileNotFoundError):
                    raise ChangedError(self.name, f"no longer has {name}") from error.__cause__
                raise
            if now != entry:
                raise ChangedError(self.name, f"has a {name} that changed after it was listed")
            if len(data) != end - begin:
                raise ChangedError(
                    self.name, f"has a {name} that became shorter after it was listed"
                )
            yield data

    def write(self, name: str, source: Path) -> None:
        """Write a file to the bucket atomically: it appears complete or not at all."""
        with self._place_errors(f"cannot write {name}"):
            obstore.put(self._store, self._key(name), source, chunk_size=_RANGE, max_concurrency=2)

    def remove(self, name: str) -> None:
        """Remove a file."""
        with self._place_errors(f"cannot delete {name}"):
            obstore.delete(self._store, self._key(name))

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
    def _place_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            reported = first_line(error)
            why = next((words for status, words in _STATUSES if status in reported), reported[:300])
            raise PlaceError(self.name, f"{what}: {why}") from error


def _entry(found: ObjectMeta) -> FileEntry:
    # Some storages have no tag for objects they did not receive themselves; times are in seconds.
    return FileEntry(found["size"], found["e_tag"] or str(int(found["last_modified"].timestamp())))
