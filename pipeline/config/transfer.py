"""Places that bundles come from, and what such places are asked with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from pipeline.config.base import Section
from pipeline.mistakes import ENDPOINT, VARIABLE

Address = Annotated[str, Field(min_length=1)]
"""A place, as it is written: see pipeline.transfer.places."""


class CollectSection(Section):
    """What `nightshift collect` takes when it is told nothing."""

    places: tuple[Address, ...] = Field(
        default=(),
        alias="from",
        description="places that bundles are collected from: folders, ssh://user@host/path, "
        "s3://bucket/prefix",
    )


class BackupSection(Section):
    """Where `nightshift backup` puts what is not derived."""

    to: str = Field(
        default="", description="the place: a folder, ssh://user@host/path or s3://bucket/prefix"
    )
    keep: int = Field(default=30, ge=1, description="generations of it that are kept")


class SshSection(Section):
    """How ssh reaches other machines."""

    config: Path | None = Field(
        default=None,
        description="file of ssh that names keys and known hosts; by default that of the user",
    )


class S3Section(Section):
    """The object storage that buckets are at."""

    endpoint: str = Field(
        default="",
        pattern=ENDPOINT,
        description="its address, as https://fsn1.your-objectstorage.com; by default "
        "AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL of the environment",
    )
    region: str = Field(
        default="", description="what requests are signed for; by default AWS_REGION, or us-east-1"
    )
    key: str = Field(
        default="AWS_ACCESS_KEY_ID",
        min_length=1,
        pattern=VARIABLE,
        description="name of the environment variable with the access key",
    )
    secret: str = Field(
        default="AWS_SECRET_ACCESS_KEY",
        min_length=1,
        pattern=VARIABLE,
        description="name of the environment variable with the secret key",
    )
