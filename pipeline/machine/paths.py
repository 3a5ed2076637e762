"""The paths of files that belong to the machine: its lease, the record of its tuning.

They belong to the machine, not to a checkout or a cache: nights of two checkouts disturb each
other, too. A restart deletes both files, and also ends the lease and the tuning.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

RUN = "NIGHTSHIFT_RUN"
"""Environment variable with a folder for both files, instead of the machine's folders."""

_EVERYONE = stat.S_IWOTH | stat.S_ISVTX


def lease_file(
    environ: Mapping[str, str] = os.environ,
    shared: tuple[Path, ...] = (Path("/run/lock"), Path("/tmp")),  # noqa: S108 - see below
) -> Path:
    """Return the path of the lease of this machine, the same for every user.

    It is in the first folder that everyone may write to and where nobody may remove others' files:
    Debian's /run/lock, elsewhere /tmp.
    """
    if RUN in environ:
        return Path(environ[RUN]).absolute() / "nightshift.lease"
    fit = (each for each in shared if _mode(each) & _EVERYONE == _EVERYONE)
    return next(fit, shared[-1]) / "nightshift.lease"


def tune_record(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the record of changed kernel settings and their old values."""
    return Path(environ.get(RUN, "/run/nightshift")).absolute() / "tuned.json"


def _mode(folder: Path) -> int:
    try:
        return folder.stat().st_mode
    except OSError:
        return 0
