"""Whether a database was as large as its configuration is for."""

from __future__ import annotations

from pipeline.model import ServerConfig

_GB = 1 << 30


def fits(config: ServerConfig, database_bytes: int | None) -> list[str]:
    """Return a sentence about a database that fits where it should not; none if all is well."""
    if not config.exceeds or database_bytes is None or database_bytes > config.exceeds:
        return []
    there, least = (f"{size / _GB:.2f} GB" for size in (database_bytes, config.exceeds))
    return [
        f"the database of {there} fits into the {least} that one for {config.family} exceeds: "
        "this is no IO-bound result"
    ]
