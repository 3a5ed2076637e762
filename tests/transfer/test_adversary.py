"""A bench that is an adversary: the hub keeps its state, but for the bench's own batch."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from pipeline.model import Control, Manifest, Origin
from pipeline.storage.bundle import bundle_path, list_bundles, pack_bundle, read_bundle
from pipeline.transfer.folder import SUMS, write_sums
from tests.simulated import Simulation, simulate

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

VOLATILE = ("logs", "store.db", "collected.jsonl", "incoming")
"""What a collection may write that is derived or only a record of itself."""


@dataclass
class Hub:
    """A hub with a confirmed regression, and batches that it handed out to two benches."""

    simulation: Simulation
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    fingerprint: str = ""

    @property
    def folder(self) -> Path:
        return self.simulation.folder

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def jobs(self, *verb: str) -> dict[str, dict[str, Any]]:
        """Hand batches out; return the jobs by their class."""
        said = json.loads(self.simulation.run(*verb, "--format", "github-matrix").out)
        return {job["machine_class"]: job for job in said["include"]}

    def bench(self, name: str, kind: str, *verb: str) -> Path:
        """Run a verb as a bench of a class does, on what the hub sent; return its results."""
        results = self.folder / f"{name}-{kind}"
        config = self.folder / f"{name}-{kind}.toml"
        text = (self.folder / "nightshift.toml").read_text()
        config.write_text(text.replace('results = "results"', f'results = "{results}"'))
        self.simulation.run("pack", f"sent-{name}", f"--{kind}")
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

    def _as(self, name: str) -> Any:
        patch = pytest.MonkeyPatch()
        patch.setattr(self.simulation, "machine_class", name)
        return _undone(patch)

    def state(self) -> dict[str, str]:
        """The digests of everything that the hub keeps, by name."""
        return {
            path.relative_to(self.results).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.results.rglob("*"))
            if path.is_file()
            and path.relative_to(self.results).parts[0].partition("-")[0] not in VOLATILE
            and not path.name.endswith((".lock", "-wal", "-shm"))
        }


@dataclass
class _undone:
    patch: pytest.MonkeyPatch

    def __enter__(self) -> None:
        pass

    def __exit__(self, *failure: object) -> None:
        self.patch.undo()


def slow_from(simulation: Simulation, first: int) -> None:
    simulation.slowness = lambda cell, *_: (
        1.3 if simulation.place(cell.revision.version) >= first else 1.0
    )


@pytest.fixture(scope="module")
def prepared(server_root: Path) -> Iterator[Hub]:
    """A hub whose benches measured six commits, pursued the slow one, and have a batch to do."""
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("NIGHTSHIFT_MACHINE_CLASS", raising=False)
        folder = Path(mkdtemp(dir=server_root))
        folder.chmod(0o755)
        simulation = simulate(folder, patched)
        simulation.machine_class = "hub"
        simulation.noise = 0.01
        simulation.configure(line="newest = 8", repetitions=3, more=CLASSES)
        for _ in range(6):
            simulation.commit()
        slow_from(simulation, 4)
        hub = Hub(simulation)
        simulation.run("discover")
        for name in ("small", "large"):
            hub.bench(name, "plan", "run")
        simulation.run("collect")
        simulation.run("detect")
        job = hub.jobs("pursue")["small"]
        hub.bench("small", "state", "pursue")
        simulation.run("collect", str(hub.packed("small", "state", job["id"])))
        hub.batches["pursued"] = job
        yield hub
