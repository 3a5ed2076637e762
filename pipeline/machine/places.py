"""Where this machine's own small files are: who measures on it, and what was tuned.

They are the machine's and not those of a checkout or a cache, two of which disturb each other
all the same. Both are gone when the machine starts again, as is what they tell of.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

RUN = "NIGHTSHIFT_RUN"
"""Environment variable with a folder that holds both, in place of those of the machine."""

_EVERYONE = stat.S_IWOTH | stat.S_ISVTX


def lease_file(
    environ: Mapping[str, str] = os.environ,
    shared: tuple[Path, ...] = (Path("/run/lock"), Path("/tmp")),  # noqa: S108 - see below
) -> Path:
    """Return the file of the machine's lease, for every user the same.

    It is in the first of the folders in which everyone may write and nobody may remove what is
    another's: Debian's /run/lock, /tmp elsewhere.
    """
    if RUN in environ:
        return Path(environ[RUN]).absolute() / "nightshift.lease"
    fit = (each for each in shared if _mode(each) & _EVERYONE == _EVERYONE)
    return next(fit, shared[-1]) / "nightshift.lease"


def tune_record(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the file that says what was tuned and how it was before. Root alone writes it."""
    return Path(environ.get(RUN, "/run/nightshift")).absolute() / "tuned.json"


def _mode(folder: Path) -> int:
    try:
        return folder.stat().st_mode
    except OSError:
        return 0
