"""Where things are kept: folders and the store."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field

from pipeline.config.base import Section
from pipeline.units import Size


class Paths(Section):
    """Where things are kept."""

    results: Path = Field(
        default=Path("results"), description="bundles, the store, reports and issues"
    )
    cache: Path | None = Field(
        default=None,
        description="downloads, installed builds and running servers; by default "
        "/var/cache/nightshift as root and ~/.cache/nightshift otherwise",
    )
    builds_limit: Size = Field(
        default=50 * 10**9,
        description="room for installed builds; those not used for longest leave first",
        json_schema_extra={"default": "50GB"},
    )

    @property
    def cache_folder(self) -> Path:
        """The cache as configured, or the default for whoever runs us."""
        if self.cache is not None:
            return self.cache.expanduser().absolute()
        if (chosen := os.environ.get("NIGHTSHIFT_CACHE")) is not None:
            return Path(chosen).absolute()
        if os.geteuid() == 0:
            return Path("/var/cache/nightshift")
        return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "nightshift"


class StoreSection(Section):
    """The database derived from the bundles."""

    url: str = Field(
        default="",
        description="SQLAlchemy URL of a PostgreSQL database for a team, as "
        "postgresql+psycopg://user@host/nightshift; empty for SQLite in paths.results",
    )
