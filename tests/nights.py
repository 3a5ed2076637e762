"""Whole nights in a folder of their own, run by the real command line."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import create_engine, text

NIGHTSHIFT = Path(sys.executable).with_name("nightshift")

CONFIG = """
[night]
repetitions = {repetitions}

[machine]
port = {port}

[preflight]
wait = "0s"

# What else runs on the machine of the tests says nothing of these.
[disturbance]
watch = false

[[line]]
name = "line"
target = "{target}"
revisions = {revisions}

[[workload]]
name = "short"
config = "{config}"
rows = 5000
steps = {steps}
measure = "1s"
warmup = "100ms"
{more}
"""


@dataclass(frozen=True)
class Night:
    """A folder with a configuration, in which verbs are run."""

    folder: Path

    def command(self, *verb: str) -> list[str]:
        return [str(NIGHTSHIFT), *verb]

    def run(self, *verb: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.command(*verb), cwd=self.folder, capture_output=True, text=True, check=False
        )
        said = f"{done.stderr}\n{done.stdout[-2000:]}"
        assert done.returncode == code, f"{verb} ended with {done.returncode}:\n{said}"
        return done

    def json(self, *verb: str) -> Any:
        return json.loads(self.run(*verb, "--format", "json").stdout)

    def start(self, *verb: str) -> subprocess.Popen[bytes]:
        """Start a verb without waiting; its output goes nowhere."""
        return subprocess.Popen(
            self.command(*verb),
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def bundles(self) -> dict[str, bytes]:
        """The whole bundles there are now, by name."""
        return {
            path.name: path.read_bytes() for path in self.folder.glob("results/bundles/*.tar.zst")
        }

    def tables(self) -> Any:
        return self.json("table", "--absolute")

    def rows(self) -> list[tuple[Any, ...]]:
        """Every measurement in the store, by what it is of."""
        engine = create_engine(f"sqlite:///{self.folder}/results/store.db")
        with engine.connect() as connection:
            found = connection.execute(
                text(
                    "SELECT run.run_id, step.name, metric.name, measurement.value FROM run "
                    "JOIN step_run ON step_run.run = run.id JOIN step ON step.id = step_run.step "
                    "JOIN measurement ON measurement.step_run = step_run.id "
                    "JOIN metric ON metric.id = measurement.metric ORDER BY 1, 2, 3"
                )
            )
            return [tuple(row) for row in found]


def make_night(
    folder: Path,
    *,
    revisions: Sequence[str],
    steps: Sequence[str] = ("point-query", "update-index"),
    repetitions: int = 1,
    port: int = 0,
    target: str = "postgres",
    config: str = "x10a",
    more: str = "",
) -> Night:
    """Write a configuration for the named revisions of a target into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nightshift.toml").write_text(
        CONFIG.format(
            repetitions=repetitions,
            revisions=json.dumps(list(revisions)),
            steps=json.dumps(list(steps)),
            port=port,
            target=target,
            config=config,
            more=more,
        )
    )
    return Night(folder)


def give_own_cache(night: Night, folder: Path, cache: Path) -> None:
    """Let a night build and run in ``folder``; archives are those of the shared ``cache``."""
    folder.mkdir()
    for shared in ("downloads", "versions"):
        (cache / shared).mkdir(parents=True, exist_ok=True)
        (folder / shared).symlink_to(cache / shared)
    config = night.folder / "nightshift.toml"
    config.write_text(f'[paths]\ncache = "{folder}"\n' + config.read_text())


def leftovers(cache: Path, seconds: float = 120.0) -> list[str]:
    """Return the commands of processes that still run in the cache, once they had time to go."""
    mark = str(cache / "runs")
    deadline = time.monotonic() + seconds
    while True:
        found = []
        for process in psutil.process_iter(["cmdline", "cwd"]):
            words = [*(process.info["cmdline"] or ()), process.info["cwd"] or ""]
            if any(mark in word for word in words):
                found.append(" ".join(words))
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)
