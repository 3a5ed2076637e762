"""What the families that sysbench runs have in common: how it is called, and its version."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from pipeline.errors import UserError
from pipeline.model import Connection

SHARED_SCRIPTS = Path(__file__).parent / "lua"
"""The modules that the scripts of all families use."""

MEASURING = "Threads started!"
"""What sysbench prints when all threads are warm and the clock starts."""

SLOWEST_LOAD = 1000.0
"""Rows per second that even a slow machine loads."""


def connection_options(connection: Connection) -> tuple[str, ...]:
    """Return the options by which sysbench, or for SQLite our scripts, reach the database."""
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
    """Return the version of sysbench. Raises UserError when it is not installed."""
    if shutil.which("sysbench") is None:
        raise UserError(
            "sysbench is not installed; `make setup` installs it, or install your system's "
            "package named sysbench"
        )
    shown = subprocess.run(["sysbench", "--version"], capture_output=True, text=True, check=True)
    return {"sysbench": shown.stdout.strip()}


def scripts_version(scripts: Path) -> str:
    """Return the identity of a family's scripts: other scripts measure something else."""
    content = hashlib.sha256()
    for root in (scripts, SHARED_SCRIPTS):
        for path in sorted(root.rglob("*.lua")):
            content.update(path.relative_to(root).as_posix().encode())
            content.update(path.read_bytes())
    return content.hexdigest()[:12]


def rest_after_writes(rows: int, published: int) -> float:
    """Return the seconds of rest after maintenance for so many rows in all tables.

    Published: 60 s and 1 s for every million rows, at most 1200 s. Tables smaller than the
    smallest ``published`` are given the same part of it as they have of their rows.
    """
    full = min(60.0 + rows / 1e6, 1200.0)
    return full * min(rows / published, 1.0)
