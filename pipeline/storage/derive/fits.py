"""Check that a database is larger than memory if its configuration requires that."""

from __future__ import annotations

from pipeline.model import ServerConfig

_GB = 1 << 30


def fits(config: ServerConfig, database_bytes: int | None) -> list[str]:
    """Return a warning if a database fits into memory, but its configuration is for larger ones."""
    if not config.exceeds or database_bytes is None or database_bytes > config.exceeds:
        return []
    there, least = (f"{size / _GB:.2f} GB" for size in (database_bytes, config.exceeds))
    return [
        f"this result is not IO-bound: the database of {there} fits into the {least} of memory "
        f"that an IO-bound one ({config.family}) exceeds"
    ]
