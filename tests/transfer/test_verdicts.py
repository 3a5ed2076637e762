"""Verdicts of the hub on what a bench measured: the same as that of the bench, made here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pipeline.model import Cell
from pipeline.storage.journal import EventKind, Journal
from tests.simulated import simulate
from tests.transfer.hub import CLASSES, Hub, measured, slow_from

ONE_CLASS = CLASSES.partition('\n[[class]]\nname = "large"')[0]


@pytest.fixture
def hub(server_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """A hub with one bench, which measures the newest commit of a branch by its own timer."""
    monkeypatch.delenv("NIGHTSHIFT_MACHINE_CLASS", raising=False)
    simulation = simulate(server_folder, monkeypatch)
    simulation.machine_class = "hub"
    simulation.noise = 0.01
    simulation.configure(line="newest = 1", repetitions=3, more=ONE_CLASS)
    return Hub(simulation)


def nights(hub: Hub, count: int, commits: int) -> None:
    for _ in range(count):
        measured(hub, commits, ("small",))


def pursued(hub: Hub, verb: str = "pursue") -> Path:
    """Have the bench pursue what the hub suspects, and collect; return the bench's results."""
    job = hub.hand_out("pursue")["small"]
    kind = f"state-{job['id']}"
    results = hub.bench("small", kind, verb)
    ran = hub.collect(hub.packed("small", kind, job["id"]))
    assert ran.code == 0, ran.err
    return results


def outcomes(results: Path, kind: str) -> list[Any]:
    """The outcomes of experiments of a kind, without their times and costs."""
    found = []
    for path in sorted(results.glob(f"experiments/{kind}-*/outcome.json")):
        outcome = json.loads(path.read_text())
        found.append({name: outcome[name] for name in outcome.keys() - {"at", "minutes"}})
    return found


@pytest.mark.parametrize("broken", [False, True])
def test_a_culprit_among_commits_that_no_night_measured(hub: Hub, broken: bool) -> None:
    slow_from(hub.simulation, 15)
    nights(hub, 5, 3)
    assert hub.states() == {}
    nights(hub, 1, 6)
    ((fingerprint, state),) = hub.states().items()
    assert state == "suspected"
    if broken:
        hub.simulation.broken = {hub.simulation.commits[16]}
    bench = pursued(hub)
    assert hub.states() == {fingerprint: "confirmed"}
    (known,) = hub.simulation.regressions()
    assert known["culprit"]["revision"] == hub.simulation.commits[15]
    assert known["culprit"]["confirmed"]
    for kind in ("confirm", "bisect"):
        assert outcomes(hub.results, kind) == outcomes(bench, kind) != []
    events = [event.event for event in Journal(hub.results).read()]
    assert events == [EventKind.FOUND, EventKind.CONFIRMED, EventKind.BISECTED]
    (box,) = hub.folder.glob("box-small-state-*")
    again = hub.collect(box)
    assert (again.code, len(Journal(hub.results).read())) == (0, 3), again.err


def test_a_search_that_ended_early_has_the_same_range(hub: Hub) -> None:
    slow_from(hub.simulation, 15)
    nights(hub, 5, 3)
    more = ONE_CLASS + '\n[bisect]\nnight = "130s"\n'
    hub.simulation.configure(line="newest = 1", repetitions=3, more=more)
    nights(hub, 1, 12)
    bench = pursued(hub)
    assert outcomes(hub.results, "bisect") == outcomes(bench, "bisect") != []
    (known,) = hub.simulation.regressions()
    assert not known["culprit"]["confirmed"]


def test_a_reopened_one_is_judged_by_new_runs_alone(hub: Hub) -> None:
    hub.simulation.configure(line="newest = 8", repetitions=3, more=ONE_CLASS)
    simulation = hub.simulation
    slow_from(simulation, 4)
    nights(hub, 1, 6)
    simulation.slowness = lambda *_: 1.0
    pursued(hub)
    ((fingerprint, state),) = hub.states().items()
    assert state == "rejected"
    simulation.run("reopen", fingerprint)
    slow_from(simulation, 4)
    pursued(hub)
    assert hub.states() == {fingerprint: "confirmed"}
    assert list(hub.results.glob("experiments/aside/confirm-*.1/outcome.json"))


def test_an_undecided_one_continues_where_it_was(hub: Hub) -> None:
    more = ONE_CLASS + '\n[confirm]\nsmallest_effect = "0.1%"\nbudget = "1m"\n'
    hub.simulation.configure(line="newest = 8", repetitions=3, more=more)
    slow_from(hub.simulation, 4)
    nights(hub, 1, 6)
    hub.simulation.slowness = lambda *_: 1.0
    pursued(hub)
    (first,) = outcomes(hub.results, "confirm")
    assert first["verdict"] == "undecided"
    pursued(hub, "confirm")
    (second,) = outcomes(hub.results, "confirm")
    assert second["blocks"] > first["blocks"]


def test_a_recovery_is_resolved_by_the_hub(hub: Hub) -> None:
    hub.simulation.configure(line="newest = 20", repetitions=3, more=ONE_CLASS)

    def slowness(cell: Cell, step: str, settings: Mapping[str, str]) -> float:
        return 1.3 if 4 <= hub.simulation.place(cell.revision.version) < 10 else 1.0

    hub.simulation.slowness = slowness
    nights(hub, 1, 8)
    pursued(hub)
    nights(hub, 1, 4)
    pursued(hub)
    known = {one["direction"]: one for one in hub.simulation.regressions()}
    assert known["regression"]["state"] == "resolved"
    *_, last = known["regression"]["events"]
    assert last["event"] == "resolved"
    assert last["experiment"].startswith("recover-")
