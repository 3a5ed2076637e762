"""Run programs from Debian packages with the C library of those packages, not the machine's."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

from pipeline.text.errors import UserError

_LOADERS = {
    "x86_64": ("x86_64-linux-gnu", "ld-linux-x86-64.so.2"),
    "aarch64": ("aarch64-linux-gnu", "ld-linux-aarch64.so.1"),
}
"""The library folder and the dynamic loader in it, by processor architecture."""


def loaded(home: Path, program: Path, libraries: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the command that runs a program from Debian packages with their own C library.

    ``home`` is the folder of the build, ``libraries`` are further library folders in it. The
    machine's libraries are not used, so that a program of any suite runs. Raises UserError if
    ``home`` has no C library.
    """
    folder, name = _LOADERS.get(platform.machine(), ("", ""))
    main = home / "usr/lib" / folder
    if not (main / name).is_file():
        raise UserError(
            f"{home} holds no C library for {platform.machine()}; delete the folder and run again"
        )
    folders = [str(main), *(str(home / each) for each in libraries)]
    return (
        str(main / name),
        "--inhibit-cache",
        "--library-path",
        ":".join(folders),
        str(program),
    )
