"""Runs our scripts by the real sysbench, for the tests beside it."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pipeline.workloads.sysbench.catalogue as anchor

SCRIPTS = Path(anchor.__file__).parent / "lua"
LONGEST_SECONDS = 120


class Server(Protocol):
    """What the fixture ``postgres_server`` offers."""

    socket_dir: Path
    port: int
    user: str
    database: str


@dataclass(frozen=True)
class Sysbench:
    """sysbench on one server, always with the same seed unless told otherwise."""

    server: Server

    def __call__(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Run ``command`` (prepare, run or cleanup) to its end, standard error merged in."""
        return run_script(
            SCRIPTS / "nightshift.lua",
            "--db-driver=pgsql",
            f"--pgsql-host={self.server.socket_dir}",
            f"--pgsql-port={self.server.port}",
            f"--pgsql-user={self.server.user}",
            f"--pgsql-db={self.server.database}",
            "--rand-seed=7",
            "--histogram=on",
            *options,
            command,
        )


def run_script(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run any Lua script by sysbench."""
    return subprocess.run(
        ["sysbench", str(script), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
