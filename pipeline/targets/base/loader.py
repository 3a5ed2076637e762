"""Programs of Debian packages: run by the C library they came with, not by the machine's."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

from pipeline.errors import UserError

_LOADERS = {
    "x86_64": ("x86_64-linux-gnu", "ld-linux-x86-64.so.2"),
    "aarch64": ("aarch64-linux-gnu", "ld-linux-aarch64.so.1"),
}
"""The folder of the libraries, by kind of machine, and the program in it that loads others."""


def loaded(home: Path, program: Path, libraries: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the command that runs a ``program`` of a ``home`` of Debian packages.

    ``libraries`` are further folders of the home that hold libraries. What the machine has of
    them is not used, so that a program of any suite runs. Raises UserError for a home without
    a C library.
    """
    folder, name = _LOADERS.get(platform.machine(), ("", ""))
    main = home / "usr/lib" / folder
    if not (main / name).is_file():
        raise UserError(f"{home} holds no C library for {platform.machine()}; delete it")
    folders = [str(main), *(str(home / each) for each in libraries)]
    return (
        str(main / name),
        "--inhibit-cache",
        "--library-path",
        ":".join(folders),
        str(program),
    )
