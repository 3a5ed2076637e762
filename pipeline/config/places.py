"""The settings of folders and of the store."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field

from pipeline.config.base import Section
from pipeline.text.units import Size


class Paths(Section):
    """The table ``[paths]``: the folders of results and of the cache."""

    results: Path = Field(
        default=Path("results"), description="folder for bundles, the store, reports and issues"
    )
    cache: Path | None = Field(
        default=None,
        description=(
            "folder for downloads, installed builds and running servers; by default "
            "/var/cache/nightshift as root and ~/.cache/nightshift otherwise"
        ),
    )
    builds_limit: Size = Field(
        default="50GB",
        validate_default=True,
        description="maximum size of all installed builds; the least recently used are "
        "removed first",
    )

    @property
    def cache_folder(self) -> Path:
        """The configured cache folder, or the default one of this user."""
        if self.cache is not None:
            return self.cache.expanduser().absolute()
        if (chosen := os.environ.get("NIGHTSHIFT_CACHE")) is not None:
            return Path(chosen).absolute()
        if os.geteuid() == 0:
            return Path("/var/cache/nightshift")
        return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "nightshift"


class StoreSection(Section):
    """The table ``[store]``: the database that is derived from the bundles."""

    url: str = Field(
        default="",
        description=(
            "SQLAlchemy URL of a PostgreSQL database for a team, for example "
            "postgresql+psycopg://user@host/nightshift; empty for SQLite in paths.results"
        ),
    )
