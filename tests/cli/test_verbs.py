"""The verbs on bundles that were made before, so that no server has to run."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.output import print_json
from pipeline.measure.discover import discovered
from pipeline.measure.run import Builds, build_key
from pipeline.model import Cell
from pipeline.use_cases import run as run_stages
from tests.cli.conftest import BUILD, CONFIG, LONGER, NOT_AGAIN, Nightshift, Ran
from tests.cli.measured import level, write_runs


def take(folder: Path, nightshift: Nightshift, config: str = CONFIG) -> Ran:
    """Write every run of the plan and ingest it."""
    (folder / "nightshift.toml").write_text(config)
    write_runs()
    return nightshift("ingest")


def slower(cell: Cell, step: str) -> float:
    """150 queries per second, and 100 from 17.10 on."""
    return 15_000.0 / level(cell, step)


def test_discover_lists_what_was_found(
    nightshift: Nightshift, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = discovered(folder / "results")
    monkeypatch.setattr("pipeline.use_cases.discover.discover", lambda *_, **__: found)
    ran = nightshift("discover")
    assert ran.out.startswith("postgres from maven: 10 releases\n  9.6   9.6.24\n")
    assert "  17    17.0 17.9 17.10 17.11\n" in ran.out
    (offer,) = nightshift("discover", "--format", "json").json
    assert (offer["target"], offer["source"], offer["revisions"][-1]) == (
        "postgres",
        "maven",
        "18.0",
    )


def test_plan_shows_what_is_left(nightshift: Nightshift, folder: Path) -> None:
    ran = nightshift("plan")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "minors: 17.9 17.10 17.11"
    assert "3 cells x 3 repetitions; 9 runs left" in ran.out
    planned = nightshift("plan", "--format", "json").json
    assert planned["lines"] == {"minors": ["17.9", "17.10", "17.11"]}
    assert len(planned["remaining"]) == planned["runs"] == 9
    take(folder, nightshift)
    assert "; 0 runs left" in nightshift("plan").out
    assert nightshift("plan", "--format", "json").json["remaining"] == []


def test_quick_has_a_plan_of_its_own(nightshift: Nightshift, folder: Path) -> None:
    take(folder, nightshift)
    quick = nightshift("plan", "--quick", "--format", "json").json
    assert quick["lines"] == {"minors": ["17.10", "17.11"]}
    assert len(quick["remaining"]) == 4


def test_ingest_takes_each_bundle_once(nightshift: Nightshift, folder: Path) -> None:
    assert take(folder, nightshift).out == (
        "9 bundles ingested (36 measurements), 0 known already, 0 refused\n"
    )
    assert nightshift("ingest", "--format", "json").json == {
        "taken": 0,
        "known": 9,
        "measurements": 0,
        "refused": [],
    }


def test_ingest_names_what_it_refuses(nightshift: Nightshift, folder: Path) -> None:
    write_runs()
    damaged = min((folder / "results/bundles").iterdir())
    damaged.write_bytes(damaged.read_bytes()[:100])
    ran = nightshift("ingest")
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert damaged.name in ran.err
    assert "8 bundles ingested" in ran.out
    assert not damaged.exists()
    assert nightshift("ingest").code == 0, "it is reported once"


def test_rebuild_gives_the_same_tables(nightshift: Nightshift, folder: Path) -> None:
    take(folder, nightshift)
    before = nightshift("table")
    assert nightshift("rebuild").out.startswith("9 bundles ingested (")
    assert nightshift("table") == before


def test_the_table_is_relative_to_the_first_revision(nightshift: Nightshift, folder: Path) -> None:
    take(folder, nightshift)
    lines = nightshift("table").out.splitlines()
    assert lines[0] == "minors, cached: qps (1/s)"
    assert lines[1].startswith("Relative to: pg179_official.x10a_")
    assert "1.50    1.50    point-query_range=100" in lines
    assert "1.00    1.00    point-query_range=100" not in lines


def test_the_base_can_be_chosen(nightshift: Nightshift, folder: Path) -> None:
    take(folder, nightshift)
    out = nightshift("table", "--base", "17.11").out
    assert "0.67    1.00    point-query_range=100\n" in out
    assert "0.67    1.00" in nightshift("table", "--base", "17.11", "--line", "minors").out


def test_absolute_values_and_decimals(nightshift: Nightshift, folder: Path) -> None:
    take(folder, nightshift)
    assert "100     150     150     scan_range=100" in nightshift("table", "--absolute").out
    out = nightshift("table", "--absolute", "--decimals", "1").out
    assert "100.2   150.3   150.3   scan_range=100" in out
    assert "Relative to" not in out


def test_other_metrics(nightshift: Nightshift, folder: Path) -> None:
    take(folder, nightshift)
    out = nightshift("table", "--metric", "cpu_us/o").out
    assert out.startswith("minors, cached: cpu_us/o (us)\n")
    assert "0.67    0.67    scan_range=100" in out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--base", "17.1"], "minors, cached has no base '17.1'; did you mean"),
        (["--line", "minor"], "there is no line 'minor'; did you mean minors?"),
        (["--metric", "cpu_us"], "no run has the metric 'cpu_us'; did you mean cpu"),
        (
            ["--metric", "nopm"],
            ("no data for the layout relative: it needs measured figures of the metric"),
        ),
        (["--layout", "sumary"], "there is no layout 'sumary'; did you mean summary?"),
        (["--layout", "scale-up"], "no data for the layout scale-up: it needs a"),
        (["--layout", "nopm"], "no data for the layout nopm: it needs runs of tproc-c"),
        (
            ["--layout", "summary", "--absolute"],
            "the layout summary has only relative values; leave --absolute out",
        ),
        (
            ["--layout", "details", "--metric", "qps"],
            "the layout details always shows the same metrics",
        ),
    ],
)
def test_what_a_table_cannot_show(
    nightshift: Nightshift, folder: Path, args: list[str], said: str
) -> None:
    take(folder, nightshift)
    ran = nightshift("table", *args)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"nightshift: {said}")


def test_a_table_before_anything_was_measured(nightshift: Nightshift) -> None:
    ran = nightshift("table")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "run `nightshift nightly`" in ran.err


def test_a_line_of_one_revision_is_shown_as_it_is(nightshift: Nightshift, folder: Path) -> None:
    take(folder, nightshift, CONFIG.replace('since = "17.9"', 'since = "17.11"'))
    lines = nightshift("table").out.splitlines()
    assert lines[1].startswith("col-1 : pg1711")
    assert "150     scan_range=100" in lines


def test_layouts_are_chosen_by_name(nightshift: Nightshift, folder: Path) -> None:
    take(folder, nightshift)
    out = nightshift("table", "--layout", "summary").out
    assert "range queries without aggregation  1.50    1.50    1.50    1.50    -\n" in out
    out = nightshift("table", "--layout", "per-operation").out
    assert "pg1710_official.x10a_" in out
    assert "\ncpu_us/o  dbms\n" in out
    absolute = nightshift("table", "--layout", "per-operation", "--absolute").out
    assert out.startswith(absolute.rstrip())
    assert "Relative to" not in absolute


def test_a_table_by_numbers_of_clients(nightshift: Nightshift, folder: Path) -> None:
    take(folder, nightshift, CONFIG.replace('steps = ["scan"', 'clients = [1, 2]\nsteps = ["scan"'))
    out = nightshift("table").out
    assert "minors, cached, 1 client: qps" in out
    assert "minors, cached, 2 clients: qps" in out
    out = nightshift("table", "--layout", "scale-up", "--format", "csv").out
    assert "step,dbms,1,2\n" in out


def test_colours_are_for_terminals(nightshift: Nightshift, folder: Path) -> None:
    take(folder, nightshift)
    assert "\x1b" not in nightshift("table").out


def test_a_table_as_json_and_markdown(nightshift: Nightshift, folder: Path) -> None:
    take(folder, nightshift)
    (table,) = nightshift("table", "--format", "json").json
    assert [column["label"] for column in table["columns"]] == ["17.10", "17.11"]
    assert nightshift("table", "--format", "markdown").out.startswith("### minors, cached: qps")


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_an_absolute_table_can_be_imported_again(
    nightshift: Nightshift, folder: Path, form: str
) -> None:
    take(folder, nightshift)
    absolute = nightshift("table", "--absolute", "--format", form).out
    (folder / "copy").write_text(absolute)
    imported = nightshift("import", "csv", "copy", "--format", "json").json
    assert (imported["line"], len(imported["bundles"])) == ("copy", 3)
    again = nightshift("table", "--line", "copy", "--absolute", "--format", form).out
    assert again.splitlines()[1:] == absolute.splitlines()[1:]
    shown = nightshift("import", "csv", "copy")
    assert shown.out == (
        "line copy: 0 new runs imported; `nightshift detect` searches it, `nightshift table --line "
        "copy` shows it\n"
    )


def test_a_relative_table_can_be_imported_again(nightshift: Nightshift, folder: Path) -> None:
    take(folder, nightshift)
    relative = nightshift("table", "--format", "csv").out
    (folder / "copy.csv").write_text(relative)
    nightshift("import", "csv", "copy.csv")
    again = nightshift("table", "--line", "copy", "--format", "csv").out
    assert again.splitlines()[1:] == relative.splitlines()[1:]
    ran = nightshift("table", "--line", "copy", "--absolute")
    assert (ran.code, ran.err) == (
        2,
        "nightshift: no data for the layout absolute: it needs absolute values (some published "
        "tables have only relative ones)\n",
    )


def test_detect_report_and_notify(nightshift: Nightshift, folder: Path) -> None:
    (folder / "nightshift.toml").write_text(LONGER)
    write_runs(levels=slower)
    nightshift("ingest")
    ran = nightshift("detect")
    assert ran.code == 0
    assert ran.out.startswith("1 suspected regression and 0 improvements in 4 series\n  worse   ")
    assert "minors: 17.9 -> 17.10" in ran.out
    detected = nightshift("detect", "--format", "json").json
    assert detected["series"] == 4
    assert len(detected["regressions"][0]["shifts"]) == 4

    written = nightshift("report", "--format", "json").json
    assert [Path(path).name for path in written] == [
        "minors-cached-1c.md",
        "minors-cached-1c.csv",
        "minors-cached-1c.json",
        "report.html",
    ]
    assert all((folder / path).stat().st_size for path in written)
    assert nightshift("report").out.splitlines() == written

    assert nightshift("notify").out == "no regression to report\n"
    (folder / "nightshift.toml").write_text(f"{LONGER}[notify]\nsuspected = true\n")
    first = nightshift("notify")
    assert first.out.count("(new)") == 1
    reported = nightshift("notify", "--format", "json").json
    assert reported["new"] == []
    (path,) = reported["all"]
    assert (
        "```sh\nnightshift compare postgres:17.9@official+x10a postgres:17.10@official+x10a "
        "--step point-query_range=100 --step scan_range=100 --workload cached "
        "--config nightshift.toml\n```\n" in (folder / path).read_text()
    )


def test_the_site_leads_to_the_report_and_the_issues(nightshift: Nightshift, folder: Path) -> None:
    (folder / "nightshift.toml").write_text(f"{LONGER}[notify]\nsuspected = true\n")
    write_runs(levels=slower)
    nightshift("ingest")
    ran = nightshift("site")
    assert (ran.code, ran.out) == (2, "")
    assert "run `nightshift detect`" in ran.err
    for verb in ("detect", "report", "notify"):
        nightshift(verb)
    ran = nightshift("site")
    assert ran.out == "results/site/index.html\n"
    page = (folder / "results/site/index.html").read_text()
    (issue,) = (folder / "results/issues").glob("*.md")
    assert f'"issue":"../issues/{issue.name}"' in page
    assert '"report":"night.html"' in page
    report = (folder / "results/report.html").read_text()
    night = (folder / "results/site/night.html").read_text()
    assert (step := '<section class="step" id="') in report
    assert report.count(step) == night.count(step)
    assert '"state":"suspected"' in page
    (one,) = nightshift("regressions", "--format", "json").json
    nightshift("ack", one["fingerprint"], "--note", "a trade for correctness")
    reported = nightshift("site", "--output", "elsewhere", "--format", "json").json
    assert reported == {"site": "elsewhere/index.html"}
    page = (folder / "elsewhere/index.html").read_text()
    assert '"state":"acknowledged"' in page
    assert "a trade for correctness" in page
    assert '"report":"night.html"' in page
    assert (folder / "elsewhere/night.html").exists()


def test_an_issue_keeps_its_explanation_when_its_line_is_no_more(
    nightshift: Nightshift, folder: Path
) -> None:
    config = f"{LONGER}[notify]\nsuspected = true\n"
    (folder / "nightshift.toml").write_text(config)
    write_runs(levels=slower)
    for verb in ("ingest", "detect"):
        assert nightshift(verb).code == 0
    (issue,) = nightshift("notify", "--format", "json").json["new"]
    text = (folder / issue).read_text()
    assert "## Why" in text
    (folder / "nightshift.toml").write_text(config.replace('"minors"', '"releases"'))
    assert nightshift("detect").code == 0
    reported = nightshift("notify", "--format", "json").json
    assert issue in reported["all"]
    assert (folder / issue).read_text() == text


FIRST_LOOK = "results after one run of each cell; further runs may still change the second decimal:"


def test_a_night_measures_shows_and_reports(
    nightshift: Nightshift, folder: Path, night: list[tuple[str, int]]
) -> None:
    (folder / "nightshift.toml").write_text(LONGER + NOT_AGAIN)
    ran = nightshift("nightly")
    assert ran.code == 0
    assert len(night) == 9 * 3
    # An early table after the first repetition, then one of everything.
    assert ran.out.count(FIRST_LOOK) == 1
    assert ran.out.startswith(FIRST_LOOK + "\nminors, cached: qps (1/s)\n")
    assert ran.out.count("minors, cached: qps (1/s)\n") == 2
    assert "  better  minors: 17.9 -> 17.10  " in ran.out
    *_, report, site, done = ran.out.splitlines()
    assert report == "report  results/report.html"
    assert site == "site    results/site/index.html"
    assert done.startswith("27 runs measured in ")

    again = nightshift("nightly")
    assert len(night) == 9 * 3, "nothing is measured twice"
    assert FIRST_LOOK not in again.out
    assert "(new)" not in again.out
    assert again.out.splitlines()[-1].startswith("nothing left to measure; ended in ")


def test_a_night_that_was_stopped_goes_on(
    nightshift: Nightshift, folder: Path, night: list[tuple[str, int]]
) -> None:
    """What a killed night left as bundles, and did not ingest, is not measured again."""
    write_runs(leave=["17.10"])
    assert nightshift("nightly").code == 0
    assert night == [("17.10", 1), ("17.10", 2), ("17.10", 3)]


def test_there_is_no_early_table_of_one_revision(
    nightshift: Nightshift, folder: Path, night: list[tuple[str, int]]
) -> None:
    (folder / "nightshift.toml").write_text(CONFIG.replace('since = "17.9"', 'since = "17.11"'))
    ran = nightshift("nightly")
    assert len(night) == 3
    assert FIRST_LOOK not in ran.out
    assert "150     scan_range=100" in ran.out, "its values are shown in the end"


def test_a_night_as_json_is_nothing_but_json(
    nightshift: Nightshift, folder: Path, night: list[tuple[str, int]]
) -> None:
    (folder / "nightshift.toml").write_text(LONGER + NOT_AGAIN)
    reported = nightshift("nightly", "--format", "json").json
    assert reported["runs"] == len(night) == 27
    assert reported["new_issues"] == reported["issues"] == []
    assert len(reported["detected"]["regressions"]) == 1


def test_run_lists_its_bundles(nightshift: Nightshift, night: list[tuple[str, int]]) -> None:
    ran = nightshift("run")
    assert len(ran.out.splitlines()) == len(night) == 9
    assert nightshift("run").out == "nothing left to measure\n"
    assert nightshift("run", "--format", "json").json == []


def test_off_a_terminal_nothing_is_coloured_or_drawn(
    nightshift: Nightshift, folder: Path, night: list[tuple[str, int]]
) -> None:
    (folder / "nightshift.toml").write_text(LONGER + NOT_AGAIN)
    for args in (["nightly"], ["table"], ["detect"], ["plan"], ["ingest"], ["frobnicate"]):
        ran = nightshift(*args)
        for stream in (ran.out, ran.err):
            assert "\x1b" not in stream
            assert "\r" not in stream


def test_a_damaged_bundle_is_set_aside_and_measured_again(
    nightshift: Nightshift, folder: Path, night: list[tuple[str, int]]
) -> None:
    write_runs()
    damaged = next((folder / "results/bundles").glob("*-17.10-*-r2*"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    ran = nightshift("nightly")
    assert ran.code == 0
    assert night == [("17.10", 2)]
    assert (folder / "results/quarantine" / damaged.name).exists()
    assert ran.err.count("\n") == 1
    assert "its run is measured again" in ran.err


def test_json_has_no_infinities(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"effect": math.inf, "path": Path("x"), "name": ":100: [red]"})
    shown = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert shown == {"effect": "Infinity", "path": "x", "name": ":100: [red]"}


def test_schema_is_the_schema(nightshift: Nightshift) -> None:
    assert json.loads(nightshift("schema").out)["title"] == "nightshift.toml"


def test_targets_lists_every_source_and_what_is_missing(
    nightshift: Nightshift, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = nightshift("targets", "--format", "json").json
    by_name = {(row["target"], row["source"]): row for row in rows}
    assert by_name["postgres", "maven"]["prebuilt"] is True
    assert by_name["sqlite", "git"]["commits"] is True
    assert {tool["tool"] for tool in by_name["sqlite", "git"]["tools"]} >= {"git", "gcc", "make"}
    which = shutil.which
    monkeypatch.setattr("shutil.which", lambda tool: None if tool == "ccache" else which(tool))
    ran = nightshift("targets")
    assert ran.code == 0
    assert "  maven          prebuilt, releases     ready\n" in ran.out
    assert "missing ccache\n" in ran.out
    assert (
        "ccache: caches compiled files, so that neighbouring commits build in seconds; "
        "apt-get install ccache"
    ) in ran.out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("postgrez", "17.5"), "there is no target 'postgrez'; did you mean postgres?"),
        (("postgres",), "name the revision of postgres to build; `nightshift discover"),
        (("postgres", "17.5", "--source", "gitt"), "has no source 'gitt'; did you mean git?"),
        (("postgres", "1", "--branch", "x"), "the source maven accepts no branch"),
        (("sqlite", "1", "--repository", "/no/where"), "/no/where cannot be read ("),
    ],
)
def test_a_build_that_cannot_be_named_is_one_line(
    nightshift: Nightshift, args: tuple[str, ...], said: str
) -> None:
    ran = nightshift("build", *args)
    assert ran.code == 2
    assert ran.out == ""
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_a_commit_is_named_by_its_hash_even_if_it_is_younger_than_the_list(
    nightshift: Nightshift, folder: Path
) -> None:
    repository = folder / "repository"
    repository.mkdir()

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=x", "-c", "user.email=x")
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=repository, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    git("init", "-q")
    for text in ("int x = y;\n", "int x;\n"):
        (repository / "sqlite3.c").write_text(text)
        git("add", "-A")
        git("commit", "-qm", "x")
        commit = git("rev-parse", "HEAD")
        ran = nightshift("build", "sqlite", commit[:8], "--repository", str(repository))
        assert ran.code == 2
        reason = "error: " if "y" in text else "libsqlite3.so cannot be loaded on this machine ("
        assert f"nightshift: the build of sqlite {commit[:8]} failed: " in ran.err
        assert reason in ran.err
        assert "; the build log is /" in ran.err
    ran = nightshift("build", "sqlite", "0" * 12, "--repository", str(repository))
    assert f"git has no sqlite {'0' * 12}; `nightshift discover sqlite` lists" in ran.err


def test_a_revision_without_a_build_is_reported_each_night_and_ends_none(
    nightshift: Nightshift,
    folder: Path,
    night: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def but_one(cells: Iterable[Cell], *_: Any) -> Builds:
        builds = Builds({build_key(cell): BUILD for cell in cells}, {})
        for key in [key for key in builds.made if key[2] == "17.10"]:
            del builds.made[key]
            builds.failures[key] = "the build of postgres 17.10 failed: x.c:1: error"
        return builds

    monkeypatch.setattr(run_stages, "build_all", but_one)
    for left in ("6 runs measured", "nothing left to measure"):
        ran = nightshift("nightly")
        assert ran.code == 0
        assert left in ran.out
        assert len(night) == 6
        reported = (
            "nightshift: the build of postgres 17.10 failed: x.c:1: error; the night "
            "continues without it"
        )
        assert reported in ran.err
        page = (folder / "results/report.html").read_text()
        assert "17.10: the build of postgres 17.10 failed: x.c:1: error" in page


def test_a_night_that_can_have_no_build_at_all_ends(
    nightshift: Nightshift,
    folder: Path,
    night: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    why = "the build of postgres 17.9 failed: Maven Central cannot be reached"
    none = Builds({}, {("postgres", "maven", "17.9", "official"): why})
    monkeypatch.setattr(run_stages, "build_all", lambda *_: none)
    ran = nightshift("nightly")
    assert ran.code == 2
    assert ran.err.startswith(f"nightshift: {why}; the log is results/logs/")
    assert night == []


FOLLOWED = LONGER.replace('until = "18"', 'until = "17"\nnewest = 1')
"""A line that follows its newest revision, 17.11, night by night."""


def test_a_newest_revision_without_a_build_ends_no_night_of_a_line_that_was_measured(
    nightshift: Nightshift,
    folder: Path,
    night: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    why = "the build of postgres 17.11 failed: x.c:1: error"
    none = Builds({}, {("postgres", "maven", "17.11", "official"): why})
    (folder / "nightshift.toml").write_text(FOLLOWED.replace('"17"\nnewest', '"17.10"\nnewest'))
    assert nightshift("nightly").code == 0
    assert set(night) == {("17.10", 1), ("17.10", 2), ("17.10", 3)}
    (folder / "nightshift.toml").write_text(FOLLOWED)
    monkeypatch.setattr(run_stages, "build_all", lambda *_: none)
    ran = nightshift("nightly")
    assert ran.code == 0, ran.err
    assert f"nightshift: {why}; the night continues without it" in ran.err
    assert len(night) == 3


def test_a_line_that_follows_its_newest_revision_has_an_early_table(
    nightshift: Nightshift, folder: Path, night: list[tuple[str, int]]
) -> None:
    (folder / "nightshift.toml").write_text(FOLLOWED.replace('"17"\nnewest', '"17.10"\nnewest'))
    assert FIRST_LOOK not in nightshift("nightly").out, "there was one revision"
    (folder / "nightshift.toml").write_text(FOLLOWED)
    assert nightshift("nightly").out.count(FIRST_LOOK) == 1
    assert len(night) == 6
