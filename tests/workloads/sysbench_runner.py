"""Runs our scripts by the real sysbench, for the tests beside it."""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.model import Connection
from pipeline.workloads.base.sysbench import connection_options
from pipeline.workloads.sysbench import catalogue
from pipeline.workloads.sysbench.family import SCRIPTS

LONGEST_SECONDS = 120
ROWS = 2000
"""Rows of the tables that the tests load."""


@dataclass(frozen=True)
class Sysbench:
    """sysbench on one DBMS, always with the same seed unless given another."""

    connection: Connection

    def __call__(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Run ``command`` (prepare, run or cleanup) to its end, standard error merged in."""
        return run_script(
            SCRIPTS / "nightshift.lua",
            *connection_options(self.connection),
            "--rand-seed=7",
            "--histogram=on",
            *options,
            command,
        )

    def step(self, spec: catalogue.Microbenchmark, *options: str) -> str:
        """Run a step on tables of :data:`ROWS` rows and return its output."""
        size = f"--table-size={ROWS}"
        done = self("run", f"--step={spec.lua_step}", f"--range={spec.range}", size, *options)
        assert done.returncode == 0, done.stdout
        return done.stdout


def events(count: int) -> tuple[str, str]:
    """Options that run so many events, however long that takes."""
    return f"--events={count}", "--time=0"


def totals(output: str) -> Mapping[str, int]:
    """What was counted in a run."""
    line = re.search(r"^nightshift total (.*)$", output, re.MULTILINE)
    assert line is not None
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)(?= |$)", line[1])}


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
