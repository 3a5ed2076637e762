"""What a hub's state brought is not carried back as if it were found here."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.measure.run import BuildState, add_builds, load_builds
from pipeline.storage.database import open_store
from pipeline.transfer.results import pack
from pipeline.transfer.state import pack_state, take_state
from tests.real.transfer.anything import collect_all
from tests.storage.bundles import put_run

EXPERIMENT = "experiments/confirm-1"


def build(version: str, failure: str = "") -> BuildState:
    return BuildState(
        target="postgres", source="s", version=version, options="official", failure=failure
    )


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    results = tmp_path / "hub"
    (results / EXPERIMENT).mkdir(parents=True)
    (results / EXPERIMENT / "trials.json").write_text("[]")
    (results / EXPERIMENT / "explanation.json").write_text("{}")
    add_builds([build("17.1", "no compiler"), build("17.2")], results)
    return results


@pytest.fixture
def bench(hub: Path, tmp_path: Path) -> Path:
    """The results of a bench that took the hub's state."""
    pack_state(hub, open_store(f"sqlite:///{hub / 'store.db'}"), tmp_path / "state")
    take_state(tmp_path / "state", tmp_path / "bench")
    return tmp_path / "bench"


def carried(bench: Path, hub: Path) -> set[str]:
    """Pack and collect; return the names of what was packed."""
    box = bench.parent / "box"
    pack(bench, box)
    collect_all(box, hub)
    return {path.relative_to(box).as_posix() for path in box.rglob("*") if path.is_file()}


def test_what_the_hub_learned_meanwhile_stays(hub: Path, bench: Path) -> None:
    (hub / EXPERIMENT / "trials.json").write_text('["newer"]')
    (hub / EXPERIMENT / "explanation.json").write_text('{"newer": 1}')
    add_builds([build("17.1")], hub)
    add_builds([build("17.3")], bench)
    assert carried(bench, hub) == {"SHA256SUMS", "builds.json"}
    assert (hub / EXPERIMENT / "trials.json").read_text() == '["newer"]'
    assert (hub / EXPERIMENT / "explanation.json").read_text() == '{"newer": 1}'
    assert load_builds(hub) == [build("17.1"), build("17.2"), build("17.3")]


def test_the_runs_of_a_bench_are_carried_and_its_verdicts_stay_there(
    hub: Path, bench: Path
) -> None:
    (bench / EXPERIMENT / "trials.json").write_text('["found"]')
    (bench / "journal.jsonl").write_text("")
    run = put_run(bench / EXPERIMENT / "bundles")
    add_builds([build("17.2", "broke")], bench)
    bundle = f"{EXPERIMENT}/bundles/{run.name}"
    assert carried(bench, hub) == {"SHA256SUMS", "builds.json", bundle}
    assert (hub / EXPERIMENT / "trials.json").read_text() == "[]"
    assert (hub / bundle).exists()
    assert load_builds(hub) == [build("17.1", "no compiler"), build("17.2", "broke")]


def test_a_state_that_comes_again_takes_the_place_of_the_first(hub: Path, bench: Path) -> None:
    (hub / EXPERIMENT / "trials.json").write_text('["newer"]')
    state = bench.parent / "again"
    pack_state(hub, open_store(f"sqlite:///{hub / 'store.db'}"), state)
    take_state(state, bench)
    assert carried(bench, hub) == {"SHA256SUMS"}
