"""A night over several machines: planned on a hub, measured elsewhere, concluded on the hub."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.measure.discover import discovered
from pipeline.measure.run import load_builds
from pipeline.model import Cell
from pipeline.storage.bundle import list_bundles
from pipeline.storage.measurements import count_measurements
from pipeline.storage.night_log import Nights
from pipeline.storage.server_log import Rent, ServerEvent, ServerEventKind, Servers
from pipeline.text.units import Money
from pipeline.use_cases import nightly
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.pursue import classes_to_pursue
from tests.cli.conftest import LONGER, Nightshift, Ran
from tests.cli.measured import write_run

CLASSES = """
[[class]]
name = "small"
cores = 2
memory_gb = 8
from = ["boxes/small"]

[[class]]
name = "large"
cores = 48
memory_gb = 128
runner = ["self-hosted", "ax162-s"]
lines = ["minors"]
from = ["boxes/large"]
"""

RENTED = 'lines = ["minors"]\nserver_type = "ccx63"'


def slower(cell: Cell, step: str) -> float:
    """From 17.10 on slower, on the large machines alone."""
    slow = cell.machine_class == "large" and cell.revision.order >= (17, 10)
    return 80.0 if slow else 100.0


@pytest.fixture
def hub(
    folder: Path, nightshift: Nightshift, monkeypatch: pytest.MonkeyPatch, written: None
) -> Path:
    """The hub's folder; it has no machine of any class."""
    monkeypatch.setenv("NIGHTSHIFT_MACHINE_CLASS", "hub")
    (folder / "nightshift.toml").write_text(LONGER + CLASSES)
    return folder


def jobs(ran: Ran) -> list[dict[str, Any]]:
    assert ran.code == 0, ran.err
    assert ran.out.count("\n") == 1, "the output of a job is a line"
    return json.loads(ran.out)["include"]  # type: ignore[no-any-return]


def measured(hub: Path, name: str) -> Path:
    """Measure the cells of a class as its machines would; return the results that these have."""
    context = MeasuringContext(hub / "nightshift.toml")
    results = hub / f"bench-{name}"
    (results / "bundles").mkdir(parents=True, exist_ok=True)
    for cell, repetition in context.plan().of_class(name).remaining(()):
        path = write_run(context, cell, repetition, slower)
        path.rename(results / "bundles" / path.name)
    return results


def carried(nightshift: Nightshift, hub: Path, results: Path, name: str) -> Path:
    """Pack the results of a machine elsewhere, by its own configuration."""
    config = hub / f"{name.replace('/', '-')}.toml"
    text = (hub / "nightshift.toml").read_text()
    config.write_text(text.replace('results = "results"', f'results = "{results}"'))
    box = hub / "boxes" / name
    assert nightshift("pack", str(box), "--config", str(config)).code == 0
    return box


def test_a_night_over_two_classes(nightshift: Nightshift, hub: Path) -> None:
    planned = jobs(nightshift("plan", "--format", "github-matrix"))
    assert {job["machine_class"] for job in planned} == {"small", "large"}
    assert {tuple(job["runner"]) for job in planned} == {
        ("self-hosted", "small"),
        ("self-hosted", "ax162-s"),
    }
    boxes = []
    for name in ("small", "large"):
        results = measured(hub, name)
        boxes.append(carried(nightshift, hub, results, name))

    taken = nightshift("collect", *map(str, boxes), "--format", "json")
    assert taken.code == 0, taken.err
    assert taken.json["bundles"] == len(list(list_bundles(hub / "results" / "bundles")))
    assert jobs(nightshift("plan", "--format", "github-matrix")) == [], "everything was measured"
    again = nightshift("collect", *map(str, boxes), "--format", "json").json
    assert (again["bundles"], again["measurements"]) == (0, 0)
    assert again["known"] == taken.json["bundles"]

    detected = nightshift("detect", "--format", "json").json
    (regression,) = (one for one in detected["regressions"] if one["worse"])
    assert {shift["series"]["machine_class"] for shift in regression["shifts"]} == {"large"}
    (pursuit,) = jobs(nightshift("pursue", "--format", "github-matrix"))
    assert (pursuit["machine_class"], pursuit["regressions"]) == ("large", 1)
    assert pursuit["runner"] == ["self-hosted", "ax162-s"]
    # Tables never mix two classes.
    shown = nightshift("table", "--line", "minors").out
    assert "minors, cached, small" in shown and "minors, cached, large" in shown


def test_a_class_without_a_server_tonight_is_pursued_another_night(
    nightshift: Nightshift, hub: Path
) -> None:
    text = (hub / "nightshift.toml").read_text()
    (hub / "nightshift.toml").write_text(text.replace('lines = ["minors"]', RENTED))
    results = measured(hub, "large")
    assert nightshift("collect", str(carried(nightshift, hub, results, "large"))).code == 0
    assert nightshift("detect").code == 0
    assert classes_to_pursue(MeasuringContext(hub / "nightshift.toml")) == {"large"}
    ran = nightshift("pursue", "--format", "github-matrix", "--run", "77")
    assert jobs(ran) == []
    assert "the regressions of class large wait for the next night" in ran.err
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    rent = Rent(
        number=1,
        name="large-1",
        type="ccx63",
        location="fsn1",
        machine_class="large",
        night="77",
        made=moment,
        expires=moment + timedelta(hours=8),
        per_hour=Money(0.5, "EUR"),
    )
    made = ServerEvent(at=moment, event=ServerEventKind.MADE, number=1, rent=rent)
    Servers(hub / "results").append([made])
    ran = nightshift("pursue", "--format", "github-matrix", "--run", "77")
    assert [each["machine_class"] for each in jobs(ran)] == ["large"]


def test_a_hub_measures_nothing_itself(nightshift: Nightshift, hub: Path) -> None:
    for verb in ("run", "pursue"):
        if verb == "pursue":
            results = measured(hub, "large")
            assert (
                nightshift("collect", str(carried(nightshift, hub, results, "large/l"))).code == 0
            )
            assert nightshift("detect").code == 0
        ran = nightshift(verb)
        assert ran.code == 2
        assert "this machine is of class hub" in ran.err and "small, large" in ran.err
        assert ran.err.count("\n") == 1


def test_a_machine_that_is_not_what_its_class_says_is_refused(
    nightshift: Nightshift, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIGHTSHIFT_MACHINE_CLASS", "large")
    ran = nightshift("run")
    assert ran.code == 2
    assert "the class has c48r128, the machine c" in ran.err


def test_a_cell_that_the_plan_lacks_is_one_line(
    nightshift: Nightshift, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (hub / "nightshift.toml").read_text()
    (hub / "nightshift.toml").write_text(text.partition("\n[[class]]")[0])
    ran = nightshift("run", "--cell", "0123456789abcdef")
    assert ran.code == 2
    assert "has no cell 0123456789abcdef" in ran.err


def test_what_is_damaged_on_the_way_is_named_and_the_rest_is_taken(
    nightshift: Nightshift, hub: Path
) -> None:
    boxes = []
    for name in ("small", "large"):
        results = measured(hub, name)
        boxes.append(carried(nightshift, hub, results, name))
    bundle = next(iter(list_bundles(boxes[0] / "bundles")))
    bundle.write_bytes(bundle.read_bytes()[:-7])
    ran = nightshift("collect", *map(str, boxes))
    assert ran.code == 2
    assert f"{bundle} is missing or altered" in ran.err
    store = MeasuringContext(hub / "nightshift.toml").store
    assert count_measurements(store) > 0
    assert {
        job["machine_class"] for job in jobs(nightshift("plan", "--format", "github-matrix"))
    } == {"small"}


def test_a_run_that_was_measured_twice_stays_as_it_came_first(
    nightshift: Nightshift, hub: Path
) -> None:
    results = measured(hub, "small")
    box = carried(nightshift, hub, results, "small/first")
    assert nightshift("collect", str(box)).code == 0
    path = next(iter(list_bundles(hub / "results" / "bundles")))
    before = path.read_bytes()
    shutil.rmtree(results)
    context = MeasuringContext(hub / "nightshift.toml")
    cell, repetition = next(
        run
        for run in context.plan().of_class("small").remaining(())
        if path.name.startswith(run[0].run_id(run[1]))
    )
    path.unlink()
    write_run(context, cell, repetition, lambda *_: 55.0).rename(hub / "other")
    path.write_bytes(before)
    (results / "bundles").mkdir(parents=True)
    (hub / "other").rename(results / "bundles" / path.name)
    ran = nightshift("collect", str(carried(nightshift, hub, results, "small/second")))
    assert ran.code == 0
    assert "is in the results already with other content; the existing bundle is kept" in ran.err
    assert path.read_bytes() == before


def test_a_plan_alone_is_what_cells_are_measured_by(nightshift: Nightshift, hub: Path) -> None:
    assert nightshift("pack", "plan", "--plan").code == 0
    assert [path.name for path in sorted((hub / "plan").iterdir())] == [
        "SHA256SUMS",
        "discovered.json",
    ]
    (hub / "results" / "discovered.json").unlink()
    assert nightshift("collect", "--state", "plan").code == 0
    assert jobs(nightshift("plan", "--format", "github-matrix"))


def test_a_failed_build_elsewhere_is_known_at_the_hub(nightshift: Nightshift, hub: Path) -> None:
    results = hub / "elsewhere"
    results.mkdir()
    failed = {
        "target": "postgres",
        "source": "maven",
        "version": "17.9",
        "options": "official",
        "failure": "the build of postgres 17.9 failed: gone",
    }
    (results / "builds.json").write_text(json.dumps([failed]))
    assert nightshift("collect", str(carried(nightshift, hub, results, "large/b"))).code == 0
    assert [state.failure for state in load_builds(hub / "results")] == [failed["failure"]]


def test_a_night_of_the_hub_concludes_what_others_measured(
    nightshift: Nightshift, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nightly, "discover", lambda *_: discovered(hub / "results"))
    boxes = [
        str(carried(nightshift, hub, measured(hub, name), name)) for name in ("small", "large")
    ]
    assert nightshift("collect", *boxes).code == 0
    ran = nightshift("nightly", "--format", "json")
    assert ran.code == 0, ran.err
    assert ran.json["runs"] == 0
    (regression,) = (one for one in ran.json["detected"]["regressions"] if one["worse"])
    # Nothing was measured again here, and nothing was made of that.
    assert regression["state"] == "suspected"
    assert not list((hub / "results").glob("experiments/*"))
    (night,) = Nights(hub / "results").read()
    assert (night.error, night.queue) == ("", 0)
