"""Two nights, three importers, five deciders and ten readers at once on one results folder.

NIGHTSHIFT_CONTENTION is the number of seconds, NIGHTSHIFT_SEED another choice of commands.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from pipeline.model import Cell
from pipeline.regressions.states import known_regressions
from pipeline.storage.bundle import SUFFIX, list_bundles
from pipeline.storage.journal import EventKind, Journal
from tests.real.contention.actors import Actor, Called, alone, deciding, importing, moving, reading
from tests.repositories import git
from tests.simulated import Simulation, simulate

SECONDS = float(os.environ.get("NIGHTSHIFT_CONTENTION", "30"))
SEED = int(os.environ.get("NIGHTSHIFT_SEED", "1"))
NEW_COMMIT = 4.0
"""Seconds from one new commit to the next."""

REFUSALS = (
    r"another nightshift \(process \d+\) is measuring on this machine; wait for .*",
    r"regression \w+ is [\w' ]+, so it cannot become [\w' ]+; `nightshift regressions` shows .*",
    r"results/detected\.json was written for another plan; run `nightshift detect` first .*",
)
"""What a command may be refused with: the machine is taken, a decision comes too late, or a night
has found a new revision and has not searched yet."""

MORE = """
[detect]
alarms_per_1000 = 0.5

[confirm]
night = "0s"
budget = "0s"

[[class]]
name = "tested"
cores = 2
memory_gb = 4

[[class]]
name = "other"
cores = 2
memory_gb = 4
from = ["{packed}"]
"""


@cache
def number_of(repository: Path, revision: str) -> int:
    return int(git(repository, "rev-list", "--count", revision))


def configure(simulation: Simulation, url: str, packed: Path) -> None:
    def slowness(cell: Cell, step: str, settings: Mapping[str, str]) -> float:
        del settings
        number = number_of(simulation.folder / "repository", cell.revision.locator)
        return 1.3 if number > (7 if step.startswith("scan") else 14) else 1.0

    simulation.slowness = slowness
    more = MORE.format(packed=packed) + (f'\n[store]\nurl = "{url}"\n' if url else "")
    simulation.configure(line="newest = 60", steps=["scan", "point-query"], more=more)


@pytest.fixture
def brought(server_folder: Path, tmp_path: Path) -> list[Path]:
    """Folders that another bench packed, each with more of its bundles than the one before."""
    with pytest.MonkeyPatch.context() as patched:
        (server_folder / "bench").mkdir()
        bench = simulate(server_folder / "bench", patched)
        bench.machine_class = "other"
        for _ in range(12):
            bench.commit()
        configure(bench, "", tmp_path)
        folders = []
        bench.run("nightly")
        bundles = sorted(Path("results/bundles").glob(f"*{SUFFIX}"))
        assert len(bundles) == 24
        aside = tmp_path / "aside"
        aside.mkdir()
        for path in bundles:
            path.rename(aside / path.name)
        for number, path in enumerate(sorted(aside.iterdir())):
            path.rename(Path("results/bundles") / path.name)
            if number % 2:
                folders.append(tmp_path / f"packed-{number}")
                bench.run("pack", str(folders[-1]))
    return folders


@pytest.fixture
def simulation(
    server_folder: Path, monkeypatch: pytest.MonkeyPatch, store_url: str, tmp_path: Path
) -> Simulation:
    """A machine whose nights have found two regressions."""
    (server_folder / "hub").mkdir()
    simulation = simulate(server_folder / "hub", monkeypatch)
    for _ in range(21):
        simulation.commit()
    configure(simulation, store_url, tmp_path)
    assert alone(tmp_path, "nightly").code == 0
    return simulation


def assert_clear(called: Called) -> None:
    """Check that a command ended well, or was refused in one clear line."""
    assert "Traceback" not in called.ran.err, f"{called.name}\n{called.ran.err}"
    if called.ran.code == 0:
        return
    assert called.ran.code == 2, f"{called.name} ended with {called.ran}"
    last = called.ran.err.strip().splitlines()[-1].removeprefix("nightshift: ")
    assert any(re.fullmatch(refusal, last) for refusal in REFUSALS), f"{called.name}\n{last}"


def test_everybody_at_once(
    simulation: Simulation, brought: list[Path], store_url: str, tmp_path: Path
) -> None:
    folder = simulation.folder
    found = alone(tmp_path, "regressions", "--format", "json").json
    names = [each["fingerprint"] for each in found]
    assert len(names) == 2
    others = sorted((brought[-1] / "bundles").glob(f"*{SUFFIX}"))
    log = tmp_path / "log"
    log.mkdir()
    jobs = [
        *((f"night-{n}", lambda _chance, _number: ("nightly",)) for n in range(2)),
        *((f"importer-{n}", importing(brought)) for n in range(2)),
        ("importer-2", moving(others[::-1], folder / "results/bundles")),
        *((f"decider-{n}", deciding(f"decider-{n}", names)) for n in range(5)),
        *((f"reader-{n}", reading(f"reader-{n}", tmp_path)) for n in range(10)),
    ]
    actors = [Actor(name, job, SEED * 100 + number, log) for number, (name, job) in enumerate(jobs)]
    deadline = time.monotonic() + SECONDS
    for actor in actors:
        actor.start(deadline)
    while time.monotonic() < deadline:
        simulation.commit()
        time.sleep(min(NEW_COMMIT, max(deadline - time.monotonic(), 0.0)))
    for actor in actors:
        actor.join()

    calls = [called for actor in actors for called in actor.calls()]
    for called in calls:
        assert_clear(called)
    well = Counter(called.actor for called in calls if called.ran.code == 0)
    roles = {name.partition("-")[0] for name in well}
    assert roles == {"night", "importer", "decider", "reader"}, "each kind got something done"

    # Every decision once: those that were taken, and none of the refused.
    events = Journal(folder / "results").read()
    known = known_regressions([each for each in events if each.event is EventKind.FOUND][:2])
    decided = Counter(each.note for each in events if each.note.startswith("decider-"))
    accepted = Counter(
        called.command[called.command.index("--note") + 1]
        for called in calls
        if called.actor.startswith("decider-") and called.ran.code == 0
    )
    assert decided == accepted
    assert set(accepted.values()) == {1}
    for event in events:
        if event.fingerprint in known and event.event is not EventKind.FOUND:
            known[event.fingerprint].add(event)

    # Every bundle once: nothing was measured twice, lost, or kept out of the store.
    ran = alone(tmp_path, "nightly")
    assert (ran.code, "Traceback" in ran.err) == (0, False), ran.err
    begun = Counter((run.experiment, run.run_id) for run in simulation.measured())
    assert set(begun.values()) == {1}
    bundles = [path.name for path in list_bundles(folder / "results/bundles")]
    assert set(bundles) >= {path.name for path in others}
    assert len(bundles) == len(begun) + len(others)
    engine = create_engine(store_url)
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT run_id FROM run")).scalars().all()
    engine.dispose()
    assert sorted(f"{run_id}{SUFFIX}" for run_id in rows) == sorted(bundles)
    assert not list((folder / "results").glob(f"quarantine/*{SUFFIX}"))
    before = alone(tmp_path, "table", "--absolute")
    assert alone(tmp_path, "rebuild").code == 0
    assert alone(tmp_path, "table", "--absolute") == before
    print(  # noqa: T201 # The figures of the part.
        f"{len(calls)} commands by {len(actors)} actors in {SECONDS:.0f} s, "
        f"{sum(called.ran.code == 2 for called in calls)} refused; {len(accepted)} decisions, "
        f"{len(bundles)} bundles"
    )
