"""The time of a release, from the times of the files in its archive."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

_OLDEST = datetime(1990, 1, 1, tzinfo=UTC)
"""Earlier times are not times of a release, because no DBMS here is older. They are constants that
packing programs write in place of a time: the Unix epoch (0 and 1), cargo 1973-11-29, zip
1980-01-01, npm 1985-10-26."""
_CONSTANTS = (datetime(2006, 7, 24, 1, 21, 28, tzinfo=UTC),)
"""Constants after ``_OLDEST`` that packing programs write in place of a time: this one is from
newer versions of cargo."""


def time_of(file: Path) -> datetime | None:
    """Return the time of a file in an archive; None if the packing program wrote a constant."""
    at = datetime.fromtimestamp(int(file.lstat().st_mtime), UTC)
    return None if at < _OLDEST or at in _CONSTANTS else at


def newest_time(tree: Path) -> datetime | None:
    """Return the newest time of a file in source code, except constants of packing programs."""
    times = (time_of(Path(place) / name) for place, _, names in os.walk(tree) for name in names)
    return max((at for at in times if at is not None), default=None)
