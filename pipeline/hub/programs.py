"""Where the programs of the hub are."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

_ALSO = ("/usr/sbin", "/usr/local/sbin")
"""Where packages put servers, which is not on everybody's PATH."""


def find_program(*names: str) -> Path | None:
    """Return the first of the programs that is on PATH, or beside this Python as tools/setup does.

    None where there is none.
    """
    folders = (os.environ.get("PATH", ""), str(Path(sys.executable).parent), *_ALSO)
    for name in names:
        if (found := shutil.which(name, path=os.pathsep.join(folders))) is not None:
            return Path(found)
    return None
