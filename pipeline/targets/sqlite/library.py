"""The SQLite library of a build: its version, and SQL executed with it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from pipeline.machine.account import contained
from pipeline.targets.base import ServerError
from pipeline.targets.sqlite.compilation import LIBRARY
from pipeline.text.errors import UserError

FOLDERS = ("lib",)
"""Folders of an installed build whose files define the build."""

_CHECKED_IN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
"""The date in a source id: https://www.sqlite.org/c3ref/c_source_id.html"""
_CLIENT = Path(__file__).with_name("client.py")

Rows = list[list[str | None]]


def library(home: Path) -> Path:
    """Return the path of an installed SQLite library. Raises UserError if there is none."""
    path = home / "lib" / LIBRARY
    if not path.is_file():
        raise UserError(f"the build holds no lib/{LIBRARY}, so it is not a build of SQLite")
    return path


def reported_version(path: Path) -> str:
    """Return the version of a SQLite library: release, date and hash of its source code.

    Raises UserError if the library does not load here.
    """
    try:
        ((row,),) = execute(path, Path(":memory:"), ["SELECT sqlite_version(), sqlite_source_id()"])
    except ServerError as error:
        raise UserError(f"{path.name} cannot be loaded on this machine ({error})") from error
    return " ".join(str(value) for value in row)


def checked_in(version: str) -> datetime | None:
    """Return when the source code of a SQLite library was checked in (UTC)."""
    found = _CHECKED_IN.search(version)
    return datetime.fromisoformat(f"{found[0]}+00:00") if found else None


def execute(path: Path, database: Path, texts: Sequence[str]) -> list[Rows]:
    """Execute SQL texts on one connection of a SQLite library; return the rows of each.

    A separate process executes them: several libraries in our process would interfere, and a crash
    would end it. Raises ServerError with SQLite's message.
    """
    answer = subprocess.run(
        contained([sys.executable, "-I", "-S", str(_CLIENT), str(path), str(database)]),
        input=json.dumps(list(texts)),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if answer.returncode < 0:
        raise ServerError(f"SQLite was killed by {signal.Signals(-answer.returncode).name}")
    if answer.returncode:
        raise ServerError(answer.stderr.strip().splitlines()[-1])
    rows: list[Rows] = json.loads(answer.stdout)
    return rows
