"""Open the places of backups and transfers with the configured access."""

from __future__ import annotations

import os
from pathlib import Path

from pipeline.config import Config
from pipeline.hub.layout import HubLayout
from pipeline.transfer.backup import Sources
from pipeline.transfer.places import open_place
from pipeline.transfer.places.base import Access, Place


def place_of(settings: Config, address: str) -> Place:
    """Open a place as ``[ssh]`` and ``[s3]`` configure it. Raises PlaceError."""
    access = Access(
        ssh_config=str(settings.ssh.config.expanduser()) if settings.ssh.config else "",
        endpoint=settings.s3.endpoint,
        region=settings.s3.region,
        key_variable=settings.s3.key,
        signing_variable=settings.s3.secret,
        environment=os.environ,
    )
    return open_place(address, access)


def hub_sources(settings: Config, config: Path) -> Sources:
    """Return which files of a hub a backup needs."""
    return Sources(settings.paths.results, HubLayout(settings.hub_folder).grafana, config)
