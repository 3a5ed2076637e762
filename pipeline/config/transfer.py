"""The settings for collecting bundles from other machines and for backups."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from pipeline.config.base import Section
from pipeline.config.config_errors import ENDPOINT, VARIABLE

Address = Annotated[str, Field(min_length=1)]
"""The address of a place: see pipeline.transfer.places."""


class CollectSection(Section):
    """The table ``[collect]``: the places that `nightshift collect` reads by default."""

    places: tuple[Address, ...] = Field(
        default=(),
        alias="from",
        description="places with packed batches: folders, ssh://user@host/path, s3://bucket/prefix",
    )


class BackupSection(Section):
    """The table ``[backup]``: where `nightshift backup` stores data."""

    to: str = Field(
        default="",
        description=(
            "where backups are stored: a folder, ssh://user@host/path or s3://bucket/prefix"
        ),
    )
    keep: int = Field(default=30, ge=1, description="number of backups that are kept")


class SshSection(Section):
    """The table ``[ssh]``: how ssh reaches other machines."""

    config: Path | None = Field(
        default=None,
        description="ssh configuration file, which names keys and known hosts; by default "
        "the user's",
    )


class S3Section(Section):
    """The table ``[s3]``: the address of the object storage, and where its credentials are."""

    endpoint: str = Field(
        default="",
        pattern=ENDPOINT,
        description=(
            "address of the object storage, for example https://fsn1.your-objectstorage.com; "
            "by default AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL of the environment"
        ),
    )
    region: str = Field(
        default="",
        description="region for which requests are signed; by default AWS_REGION, or us-east-1",
    )
    key: str = Field(
        default="AWS_ACCESS_KEY_ID",
        min_length=1,
        pattern=VARIABLE,
        description="name of the environment variable that holds the access key",
    )
    secret: str = Field(
        default="AWS_SECRET_ACCESS_KEY",
        min_length=1,
        pattern=VARIABLE,
        description="name of the environment variable that holds the secret key",
    )
