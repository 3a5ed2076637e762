"""The library of a build: what it calls itself, and statements executed with it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from pipeline.errors import UserError
from pipeline.machine.account import contained
from pipeline.targets.base import ServerError
from pipeline.targets.sqlite.compilation import LIBRARY

FOLDERS = ("lib",)
"""The folders whose files make a build what it is."""

_CHECKED_IN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
"""The date in a source id: https://www.sqlite.org/c3ref/c_source_id.html"""
_SPEAK = Path(__file__).with_name("speak.py")

Rows = list[list[str | None]]


def library(home: Path) -> Path:
    """Return the library of an installed build. Raises UserError where there is none."""
    path = home / "lib" / LIBRARY
    if not path.is_file():
        raise UserError(f"the build holds no lib/{LIBRARY}, so it is none of SQLite")
    return path


def reported_version(path: Path) -> str:
    """Return what a library calls itself: its release, and the date and hash of its source code.

    Raises UserError for one that does not load here.
    """
    try:
        ((row,),) = execute(path, Path(":memory:"), ["SELECT sqlite_version(), sqlite_source_id()"])
    except ServerError as error:
        raise UserError(f"{path.name} does not work here ({error})") from error
    return " ".join(str(value) for value in row)


def checked_in(version: str) -> datetime | None:
    """Return when the source code of a library was checked in (UTC), from what it calls itself."""
    found = _CHECKED_IN.search(version)
    return datetime.fromisoformat(f"{found[0]}+00:00") if found else None


def execute(path: Path, database: Path, texts: Sequence[str]) -> list[Rows]:
    """Execute SQL texts with a library on one connection and return the rows of each.

    It is done by a process of its own: several libraries would disturb each other in ours, and one
    that crashes would end it. Raises ServerError with SQLite's own words.
    """
    answer = subprocess.run(
        contained([sys.executable, "-I", "-S", str(_SPEAK), str(path), str(database)]),
        input=json.dumps(list(texts)),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if answer.returncode < 0:
        raise ServerError(f"it was ended by {signal.Signals(-answer.returncode).name}")
    if answer.returncode:
        raise ServerError(answer.stderr.strip().splitlines()[-1])
    rows: list[Rows] = json.loads(answer.stdout)
    return rows
