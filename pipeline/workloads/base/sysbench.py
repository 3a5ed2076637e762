"""What all workload families run by sysbench share: connection, version, rest after writes."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from pipeline.model import Connection
from pipeline.text.errors import UserError

SHARED_SCRIPTS = Path(__file__).parent / "lua"
"""The Lua modules that all families share."""

MEASURING = "Threads started!"
"""The line that sysbench prints when all threads are warm and the clock starts."""

SLOWEST_LOAD = 1000.0
"""Rows per second that even a slow machine loads, for time limits."""


def connection_options(connection: Connection) -> tuple[str, ...]:
    """Return the options with which sysbench connects to a database."""
    driver, place = connection.driver, connection.socket_dir
    named = f"--db-driver={driver}"
    if driver == "sqlite":
        return (
            named,
            f"--sqlite-library={connection.program}",
            f"--sqlite-database={place}/{connection.database}",
            f"--sqlite-configuration={Path(place).parent}/connection.sql",
        )
    return (
        named,
        f"--pgsql-host={place}" if driver == "pgsql" else f"--{driver}-socket={place}/socket",
        f"--{driver}-port={connection.port}",
        f"--{driver}-user={connection.user}",
        f"--{driver}-db={connection.database}",
    )


def sysbench_version() -> dict[str, str]:
    """Return the version of sysbench. Raises UserError if it is not installed."""
    if shutil.which("sysbench") is None:
        raise UserError(
            "sysbench is not installed; run `make setup`, or install the package sysbench"
        )
    shown = subprocess.run(["sysbench", "--version"], capture_output=True, text=True, check=True)
    return {"sysbench": shown.stdout.strip()}


def scripts_version(scripts: Path) -> str:
    """Return a digest of a family's scripts; runs with other scripts are not comparable."""
    content = hashlib.sha256()
    for root in (scripts, SHARED_SCRIPTS):
        for path in sorted(root.rglob("*.lua")):
            content.update(path.relative_to(root).as_posix().encode())
            content.update(path.read_bytes())
    return content.hexdigest()[:12]


def rest_after_writes(rows: int, published: int) -> float:
    """Return how many seconds to rest after maintenance, by the size of the tables.

    The published rest is 60 s plus 1 s for every million rows, at most 1200 s. Below the smallest
    ``published`` number of rows, the rest shrinks in proportion to the rows.
    """
    full = min(60.0 + rows / 1e6, 1200.0)
    return full * min(rows / published, 1.0)
