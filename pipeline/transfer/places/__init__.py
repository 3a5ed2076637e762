"""Places for transfers: local folders, folders over ssh, and object storage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pipeline.transfer.places.base import Access, Place, PlaceError
from pipeline.transfer.places.folder import FolderPlace
from pipeline.transfer.places.s3 import S3Place
from pipeline.transfer.places.ssh import SshPlace

_KINDS: dict[str, Callable[[str, Access], Place]] = {"ssh": SshPlace, "s3": S3Place}


def open_place(address: str, access: Access) -> Place:
    """Open the place of an address: ``ssh://host/path``, ``s3://bucket/prefix`` or a folder.

    Raises PlaceError for an invalid address, and for a place that cannot be reached or denies
    access.
    """
    scheme, separator, _ = address.partition("://")
    if not separator:
        return FolderPlace(Path(address))
    if scheme not in _KINDS:
        raise PlaceError(
            address,
            ("is not a valid place: write a folder, ssh://user@host/path or s3://bucket/prefix"),
        )
    return _KINDS[scheme](address, access)


def is_remote(address: str) -> bool:
    """Whether an address is that of another machine or of object storage."""
    return "://" in address
