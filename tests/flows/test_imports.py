"""Results of other programs: imported, they are searched and shown as measured ones are."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.fakes.receiver import Receiver
from tests.formats.test_formats import DATA, FILES
from tests.simulated import Simulation

LABELS = [f"build {place}" for place in (9, 30, 4, 17, 2, 25, 11, 1, 28, 6, 13, 22, 3, 19, 8)]
"""Labels that sort in no useful way: their order is that of the file."""

FIRST_BAD = 10


@pytest.fixture
def alone(simulation: Simulation) -> Simulation:
    """A folder whose configuration has neither a line nor a workload."""
    (simulation.folder / "nightshift.toml").write_text('[paths]\nresults = "results"\n')
    return simulation


def write_table(path: Path, steps: dict[str, float], labels: list[str] = LABELS) -> Path:
    """Write a table whose steps are slower from FIRST_BAD on, by a factor each."""
    draw = random.Random(7)
    rows = [["step", *labels]]
    for step, factor in steps.items():
        levels = [1000.0 * (factor if place >= FIRST_BAD else 1.0) for place in range(len(labels))]
        rows.append([step, *(f"{level * draw.gauss(1.0, 0.004):.1f}" for level in levels)])
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    return path


def test_a_slower_last_third_is_one_regression(alone: Simulation) -> None:
    table = write_table(alone.folder / "theirs.csv", {"scan": 0.7, "insert": 0.7, "read": 1.0})
    alone.run("import", "csv", str(table), "--target", "theirdb")
    assert alone.run("detect").out.startswith(
        "1 suspected regression and 0 improvements in 3 series\n"
    )
    (found,) = alone.regressions()
    assert (found["line"], found["target"]) == ("theirs", "theirdb")
    assert (found["last_good"], found["first_bad"]) == (LABELS[9], LABELS[10])
    assert found["state"] == "suspected"
    detected = json.loads((alone.folder / "results/detected.json").read_text())["regressions"]
    steps = {shift["series"]["step"] for shift in detected[0]["shifts"]}
    assert steps == {"scan", "insert"}


def test_it_is_shown_as_measured_lines_are(alone: Simulation) -> None:
    table = write_table(alone.folder / "theirs.csv", {"scan": 0.7, "read": 1.0})
    alone.run("import", "csv", str(table), "--target", "theirdb")
    alone.run("detect")
    shown = alone.run("table").out
    assert shown == alone.run("table", "--line", "theirs").out
    assert "scan" in shown
    alone.run("report")
    assert "theirs" in (alone.folder / "results/report.html").read_text()
    alone.run("site", "--output", "site")
    assert LABELS[10] in (alone.folder / "site/index.html").read_text()


def test_the_site_has_the_metrics_that_no_measured_run_has(alone: Simulation) -> None:
    table = write_table(alone.folder / "theirs.csv", {"scan": 0.7})
    alone.run("import", "csv", str(table), "--target", "theirdb", "--metric", "widgets")
    alone.run("detect")
    alone.run("site", "--output", "site")
    assert "widgets" in (alone.folder / "site/index.html").read_text()
    assert "widgets" in (alone.folder / "site/night.html").read_text()


def test_a_site_of_many_runs_has_the_page_for_sql_on_request(
    alone: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = write_table(alone.folder / "theirs.csv", {"scan": 0.7})
    alone.run("import", "csv", str(table), "--target", "theirdb")
    alone.run("detect")
    page, first = alone.folder / "site/sql.html", alone.folder / "site/index.html"
    alone.run("site", "--output", "site")
    assert page.exists()
    monkeypatch.setattr("pipeline.use_cases.site.RUNS_FOR_SQL", -1)
    alone.run("site", "--output", "site")
    assert not page.exists()
    assert "sql.html" not in first.read_text()
    alone.run("site", "--output", "site", "--sql")
    assert page.exists()
    assert "sql.html" in first.read_text()


def test_it_is_published_as_measured_lines_are(alone: Simulation) -> None:
    table = write_table(alone.folder / "theirs.csv", {"scan": 0.7})
    alone.run("import", "csv", str(table), "--target", "theirdb")
    alone.run("detect")
    receiver = Receiver()
    with receiver.serving():
        alone.run("publish", "--url", receiver.url)
    sent = {
        labels["__name__"]: sorted(samples)
        for labels, samples in (
            (dict(labels), values) for labels, values in receiver.stored.items()
        )
        if labels.get("line") == "theirs" and "revision" not in labels
    }
    # A sample for each revision, in their order.
    assert len(sent["nightshift_run_operations_per_second"]) == len(LABELS)
    assert "nightshift_run_change_point_effect_ratio" in sent


def test_nothing_of_it_is_measured(alone: Simulation) -> None:
    table = write_table(alone.folder / "theirs.csv", {"scan": 0.7})
    alone.run("import", "csv", str(table), "--target", "theirdb", "--machine", "tested")
    alone.run("detect")
    (found,) = alone.regressions()
    confirm = alone.run("confirm", found["fingerprint"])
    assert "nightshift cannot measure its revisions" in confirm.err
    assert "nightshift cannot measure" in alone.run("explain", found["fingerprint"], code=2).err
    assert "imported" in alone.run("bisect", found["fingerprint"], code=2).err
    alone.run("wontfix", found["fingerprint"], "--note", "as designed")
    assert [one["state"] for one in alone.regressions()] == ["won't fix"]


def test_a_night_beside_an_imported_line(simulation: Simulation) -> None:
    simulation.configure()
    for _ in range(3):
        simulation.commit()
    table = write_table(simulation.folder / "theirs.csv", {"scan": 0.7})
    simulation.run("import", "csv", str(table), "--target", "theirdb", "--machine", "tested")
    ran = simulation.run("nightly")
    assert len(simulation.measured()) == 6
    assert "cannot measure" not in ran.err
    assert [one["line"] for one in simulation.regressions()] == ["theirs"]
    assert simulation.issues() == {}
    simulation.run("backfill", "--dry-run")
    assert json.loads(simulation.run("plan", "--format", "json").out)["remaining"] == []


def test_a_line_grows(alone: Simulation) -> None:
    folder = alone.folder
    write_table(folder / "theirs.csv", {"scan": 0.7}, LABELS[:8])
    alone.run("import", "csv", "theirs.csv", "--target", "theirdb")
    alone.run("detect")
    assert alone.regressions() == []
    write_table(folder / "theirs.csv", {"scan": 0.7})
    alone.run("import", "csv", "theirs.csv", "--target", "theirdb")
    alone.run("detect")
    assert [one["first_bad"] for one in alone.regressions()] == [LABELS[FIRST_BAD]]


def test_new_revisions_take_their_place_between_known_ones(alone: Simulation) -> None:
    for labels in ("b,d", "d,f", "a,b,c,d,e,f", "b,b2,c,c2"):
        count = labels.count(",") + 1
        (alone.folder / "theirs.csv").write_text(f"step,{labels}\nscan{',1' * count}\n")
        alone.run("import", "csv", "theirs.csv", "--target", "theirdb")
    planned = json.loads(alone.run("plan", "--format", "json").out)
    assert planned["lines"] == {"theirs": ["a", "b", "b2", "c", "c2", "d", "e", "f"]}


def test_the_name_of_a_measured_line_is_taken(simulation: Simulation) -> None:
    simulation.configure()
    table = write_table(simulation.folder / "line.csv", {"scan": 1.0})
    ran = simulation.run("import", "csv", str(table), "--target", "theirdb", code=2)
    assert "nightshift.toml has a [[line]] 'line'; choose another name with --line" in ran.err


@pytest.mark.parametrize("form", FILES)
def test_every_format_becomes_a_line(alone: Simulation, form: str) -> None:
    named = {"clickbench", "db_bench", "github-action-benchmark", "otava", "pytest-benchmark"}
    revision = () if form in named else ("--revision", "17.11")
    taken = alone.json("import", form, str(DATA / FILES[form]), *revision)
    assert taken["line"] == form
    assert taken["measurements"] > 0
    again = alone.json("import", form, str(DATA / FILES[form]), *revision)
    assert (again["bundles"], again["measurements"]) == ([], 0)
    assert " series" in alone.run("detect").out
    assert alone.run("table", "--layout", "absolute").out
    alone.run("site", "--output", "site")


def _commit(place: int) -> str:
    return f"{place:012x}".ljust(40, "0")


def test_a_slower_commit_of_a_history_is_a_regression(alone: Simulation) -> None:
    """Of times less is better."""
    draw = random.Random(3)
    entries = [
        {
            "commit": {"id": _commit(place), "timestamp": f"2026-01-{place + 1:02d}T00:00:00Z"},
            "date": 1.7672e12 + place * 8.64e7,
            "tool": "go",
            "benches": [
                {
                    "name": "Fib",
                    "unit": "ns/op",
                    "value": (130 if place >= FIRST_BAD else 100) * draw.gauss(1.0, 0.004),
                }
            ],
        }
        for place in range(15)
    ]
    text = f"window.BENCHMARK_DATA = {json.dumps({'entries': {'Go': entries}})}"
    (alone.folder / "data.js").write_text(text)
    alone.run("import", "github-action-benchmark", "data.js", "--line", "fib")
    assert alone.run("detect").out.startswith("1 suspected regression and 0 improvements")
    assert alone.regressions()[0]["first_bad"] == _commit(FIRST_BAD)[:12]


def test_the_direction_of_a_step_can_be_given(alone: Simulation) -> None:
    draw = random.Random(3)
    rows = [
        f"{place},c{place},{(130 if place >= FIRST_BAD else 100) * draw.gauss(1.0, 0.004)}"
        for place in range(15)
    ]
    (alone.folder / "otava.csv").write_text("\n".join(["time,commit,p99_ms", *rows]))
    alone.run("import", "otava", "otava.csv", "--line", "more")
    alone.run("import", "otava", "otava.csv", "--line", "less", "--lower", "p99*")
    found = alone.run("detect").out.splitlines()
    assert found[0] == "1 suspected regression and 1 improvement in 2 series"
    assert [line.split()[0] for line in found if "p99_ms" in line] == ["worse", "better"]


def test_another_value_at_one_revision_is_another_repetition(alone: Simulation) -> None:
    (alone.folder / "otava.csv").write_text("time,commit,a\n1,c1,5\n2,c1,6\n3,c2,7\n")
    taken = alone.json("import", "otava", "otava.csv")
    assert (len(taken["bundles"]), taken["measurements"]) == (3, 3)
    assert json.loads(alone.run("plan", "--format", "json").out)["lines"] == {"otava": ["c1", "c2"]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("hyperfine", "missing.json"), "missing.json cannot be read"),
        (("hyperfine", "bad.json"), "bad.json: the file is not valid JSON"),
        (("hyperfine", str(DATA / FILES["hyperfine"])), "give --revision"),
        (("go", "empty"), "no benchmark result was found; check that the format is go"),
        (
            ("otava", str(DATA / FILES["otava"]), "--revision", "1"),
            "the files name 10 revisions",
        ),
    ],
)
def test_a_mistake_is_one_line(alone: Simulation, arguments: tuple[str, ...], said: str) -> None:
    (alone.folder / "bad.json").write_text("{")
    (alone.folder / "empty").write_text("")
    ran = alone.run("import", *arguments, code=2)
    assert said in ran.err
    assert ran.err.count("\n") == 1
