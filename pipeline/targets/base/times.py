"""When a release was made, by the times that its archive gives its files."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

_OLDEST = datetime(1990, 1, 1, tzinfo=UTC)
"""No DBMS here is older, but what packers write instead of a time is: the beginning of Unix's (0
and 1), of cargo's (1973-11-29) and of zip's (1980-01-01), npm's 1985-10-26."""
_CONSTANTS = (datetime(2006, 7, 24, 1, 21, 28, tzinfo=UTC),)
"""What a newer cargo writes."""


def time_of(file: Path) -> datetime | None:
    """Return the time that an archive gave a file; None for what is written instead of one."""
    at = datetime.fromtimestamp(int(file.lstat().st_mtime), UTC)
    return None if at < _OLDEST or at in _CONSTANTS else at


def newest_time(tree: Path) -> datetime | None:
    """Return the newest time of the files in an unpacked source tree, by the same rule."""
    times = (time_of(Path(place) / name) for place, _, names in os.walk(tree) for name in names)
    return max((at for at in times if at is not None), default=None)
