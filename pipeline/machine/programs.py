"""Find programs that tools/setup unpacked or a package of the system installed."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

_ALSO = ("/usr/sbin", "/usr/local/sbin")
"""Folders of packaged servers that PATH often lacks."""


def find_program(*names: str) -> Path | None:
    """Return the path of the first of these programs that is installed; None if none is."""
    folders = (os.environ.get("PATH", ""), str(Path(sys.executable).parent), *_ALSO)
    for name in names:
        if (found := shutil.which(name, path=os.pathsep.join(folders))) is not None:
            return Path(found)
    return None
