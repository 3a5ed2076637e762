"""A hub and its benches on a simulated machine, each with results of its own."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.measure.run import BUILDS_FILE
from pipeline.model import Cell
from pipeline.transfer.places.base import LARGEST
from tests.simulated import Ran, Simulation, invoke

CLASSES = """
[[class]]
name = "small"
cores = 2
memory_gb = 4
from = ["small-plan"]

[[class]]
name = "large"
cores = 2
memory_gb = 4
from = ["large-plan"]
"""

DERIVED = {"logs", "store.db", "collected.jsonl", "incoming", "derived"}
"""What a collection may write that is derived, or only a record of itself."""

State = dict[str, str]
"""The digests of files by their names."""


@dataclass
class Hub:
    """A hub with a confirmed regression, and batches that it handed out to two benches."""

    simulation: Simulation
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    confirmed: str = ""
    suspected: str = ""

    @property
    def folder(self) -> Path:
        return self.simulation.folder

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def hand_out(self, *verb: str) -> dict[str, dict[str, Any]]:
        """Hand batches out; return the jobs by their class."""
        said = self.simulation.run(*verb, "--format", "github-matrix").json
        return {job["machine_class"]: job for job in said["include"]}

    def bench(self, name: str, kind: str, *verb: str) -> Path:
        """Run a verb as a bench of a class does, on what the hub sent; return its results."""
        results = self.folder / f"{name}-{kind}"
        config = self.folder / f"{name}-{kind}.toml"
        text = (self.folder / "nightshift.toml").read_text()
        config.write_text(text.replace('results = "results"', f'results = "{results}"'))
        self.simulation.run("pack", f"sent-{name}", "--plan" if "run" in verb else "--state")
        with self._as(name):
            self.simulation.run("collect", "--state", f"sent-{name}", "--config", str(config))
            self.simulation.run(*verb, "--config", str(config))
        shutil.rmtree(self.folder / f"sent-{name}")
        return results

    def packed(self, name: str, kind: str, batch: str) -> Path:
        """Pack as an honest bench does."""
        box = self.folder / f"box-{name}-{kind}"
        config = str(self.folder / f"{name}-{kind}.toml")
        self.simulation.run("pack", str(box), "--batch", batch, "--config", config)
        return box

    @contextmanager
    def _as(self, name: str) -> Iterator[None]:
        hub, self.simulation.machine_class = self.simulation.machine_class, name
        yield
        self.simulation.machine_class = hub

    def collect(self, *places: str | Path) -> Ran:
        """Collect as the hub does, whatever the exit code is."""
        return invoke("collect", *map(str, places))

    def states(self) -> dict[str, str]:
        """The states of the regressions by fingerprint."""
        return {one["fingerprint"]: one["state"] for one in self.simulation.regressions()}

    def state(self) -> State:
        """The digests of everything that the hub keeps."""
        return {
            name: digest
            for name, digest in digests(self.results).items()
            if name.partition("/")[0].removesuffix("-wal").removesuffix("-shm") not in DERIVED
            and not name.endswith(".lock")
            and name != BUILDS_FILE
        }


def digests(folder: Path) -> State:
    return {
        path.relative_to(folder).as_posix(): digest_of(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def digest_of(path: Path) -> str:
    # Nobody reads what is too large.
    data = path.read_bytes() if path.stat().st_size <= LARGEST else b""
    return hashlib.sha256(data).hexdigest()


def slow_from(simulation: Simulation, *places: int) -> None:
    """From each of these commits on, every operation takes 1.3 times as long."""

    def slowness(cell: Cell, step: str, settings: Mapping[str, str]) -> float:
        at = simulation.place(cell.revision.version)
        return float(1.3 ** sum(at >= place for place in places))

    simulation.slowness = slowness


def measured(hub: Hub, commits: int, classes: Sequence[str] = ("small", "large")) -> None:
    """Let the benches measure some commits by their own timer, and the hub detect."""
    for _ in range(commits):
        hub.simulation.commit()
    hub.simulation.run("discover")
    for name in classes:
        hub.bench(name, "plan", "run")
    hub.simulation.run("collect")
    hub.simulation.run("detect")
