"""Tables whose columns mix versions, configurations, builds and DBMSs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.experiments import table_columns
from pipeline.experiments.revision_spec import RevisionSpec
from pipeline.model import Revision
from tests.cli.conftest import CONFIG, Nightshift
from tests.measure.samples import revision

TABLE = """
[[table]]
name = "mixed"
title = "Two DBMSs"
columns = ["postgres:17.9", "postgres:17.10", "postgres:18.0+x10c", "mariadb:11.4.5"]
"""


def found(subject: RevisionSpec, *_: Path) -> tuple[Revision, str]:
    if subject.target == "postgres":
        return revision(subject.version), subject.options or "official"
    other = Revision(target=subject.target, version=subject.version, order=(11, 4, 5), major="11.4")
    return other, subject.options or "official"


@pytest.fixture
def configured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = folder / "nightshift.toml"
    # No line: a table is enough to measure.
    workload = CONFIG[CONFIG.index("[[workload]]") :]
    before = CONFIG[: CONFIG.index("[[line]]")]
    configs = 'configs = { mariadb = "z12b" }\n'
    path.write_text(f"{before}[night]\nrepetitions = 2\n{workload}{configs}{TABLE}")
    monkeypatch.setattr(table_columns, "find_subject", found)
    return path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.usefixtures("night")
def test_a_table_measures_its_columns_and_shows_them_side_by_side(
    nightshift: Nightshift, configured: Path
) -> None:
    ran = nightshift("run", "--table", "mixed")
    assert (ran.code, len(ran.out.splitlines())) == (0, 8)
    assert "nothing left to measure" in nightshift("run", "--table", "mixed").out
    shown = nightshift("table", "mixed")
    assert (shown.code, shown.err) == (0, "")
    lines = shown.out.splitlines()
    assert lines[0] == "Two DBMSs, cached: qps (1/s)"
    assert lines[1].startswith("Relative to: pg179_official.x10a_")
    heads = [line.split()[-1] for line in lines if line.startswith("col-") and ":" in line]
    assert [head.partition("_c")[0] for head in heads] == [
        "pg1710_official.x10a",
        "pg180_official.x10c",
        "ma1145_official.z12b",
    ]
    # The made-up level depends on the version alone.
    assert "1.50    1.50    1.00    scan_range=100" in shown.out


@pytest.mark.usefixtures("night")
def test_columns_of_the_command_line_use_what_was_measured(
    nightshift: Nightshift, configured: Path
) -> None:
    nightshift("run", "--table", "mixed")
    chosen = nightshift(
        "table", "postgres:17.10", "postgres:17.9", "--base", "postgres:17.10", "--format", "csv"
    )
    assert (chosen.code, "point queries,0.6666666666666667" in chosen.out) == (0, True)
    lacking = nightshift("table", "postgres:17.10", "postgres:17.11")
    assert "these columns lack results: postgres:17.11;" in lacking.err


@pytest.mark.usefixtures("night")
def test_groups_metrics_and_layout_are_those_of_the_table(
    nightshift: Nightshift, configured: Path
) -> None:
    nightshift("run", "--table", "mixed")
    with configured.open("a") as file:
        file.write('groups = ["point queries"]\nmetrics = ["cpu_us/o", "qps"]\n')
        file.write('layout = "absolute"\n')
    out = nightshift("table", "mixed").out
    assert (out.count("Two DBMSs, cached:"), "scan" in out) == (2, False)
    assert out.index("cached: cpu_us/o") < out.index("cached: qps")


@pytest.mark.usefixtures("night")
def test_numbers_of_clients_make_a_table_of_scale_up(
    nightshift: Nightshift, configured: Path
) -> None:
    change(configured, 'steps = ["scan"', 'clients = [1, 2]\nsteps = ["scan"')
    nightshift("run", "--table", "mixed")
    out = nightshift("table", "mixed", "--layout", "scale-up").out
    assert "Two DBMSs, cached: scale-up, qps(X) / qps(1) with X clients" in out
    assert "Two DBMSs, cached, 2 clients: qps" in nightshift("table", "mixed").out


@pytest.mark.usefixtures("night")
def test_an_article_is_a_table_with_its_builds_and_evidence(
    nightshift: Nightshift, configured: Path
) -> None:
    nightshift("run", "--table", "mixed")
    text = nightshift("article", "mixed").out
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads == [
        "## tl;dr",
        "## Builds, configuration and hardware",
        "## Benchmark",
        "## Results",
        "## What changed",
        "## Settings",
    ]
    assert "relative qps of 1.50 over 2 steps; 0 worse, 2 better (most: 1.50, " in text
    # Half as much time for an operation at twice the throughput.
    assert "| scan\\_range=100 | 1.50 | 0.67 |" in text.replace("scan_", "scan\\_")
    assert nightshift("article", "mixed", "--output", "mixed.md").out == ""
    assert Path("mixed.md").read_text() == text


@pytest.mark.usefixtures("night")
def test_report_and_site_have_the_tables_with_results(
    nightshift: Nightshift, configured: Path
) -> None:
    change(
        configured,
        "[night]",
        '[[line]]\nname = "minors"\ntarget = "postgres"\nsince = "17.9"\n[night]',
    )
    with configured.open("a") as file:
        file.write(TABLE.replace("mixed", "later").replace("17.9", "17.11"))
    nightshift("run", "--table", "mixed")
    assert nightshift("detect").code == 0
    assert nightshift("report").code == 0
    written = sorted(path.name for path in Path("results/tables").glob("table-*"))
    assert [name for name in written if name.endswith(".md")] == [
        "table-later.md",
        "table-mixed.md",
    ]
    assert nightshift("site").code == 0
    page = Path("results/site/tables.html").read_text()
    assert "pg180_official.x10c" in page
    assert '<a href="tables.html">Tables</a>' in Path("results/site/night.html").read_text()
    # Without a table the page is gone.
    configured.write_text(configured.read_text().partition("[[table]]")[0])
    assert nightshift("site").code == 0
    assert not Path("results/site/tables.html").exists()
    assert "tables.html" not in Path("results/site/night.html").read_text()


@pytest.mark.usefixtures("night")
def test_a_table_that_cannot_be_read_is_left_out_of_the_report(
    nightshift: Nightshift, configured: Path
) -> None:
    change(
        configured,
        "[night]",
        '[[line]]\nname = "minors"\ntarget = "postgres"\nsince = "17.9"\n[night]',
    )
    nightshift("run", "--table", "mixed")
    nightshift("detect")
    change(configured, "postgres:18.0+x10c", "postgres:18.0+x99")
    ran = nightshift("report")
    assert ran.code == 0
    assert "the table mixed is left out: postgres:18.0+x99: " in ran.err


@pytest.mark.usefixtures("night")
def test_a_workload_that_the_base_does_not_run_is_shown_absolute(
    nightshift: Nightshift, configured: Path
) -> None:
    change(configured, "[[table]]", '[[workload]]\nname = "other"\nsteps = ["scan"]\n\n[[table]]')
    change(configured, 'steps = ["scan"]', 'steps = ["scan"]\nconfigs = { mariadb = "z12b" }')
    change(configured, '"mariadb:11.4.5"]', '"mariadb:11.4.5"]\nworkloads = ["cached"]')
    nightshift("run", "--table", "mixed")
    change(configured, '\nworkloads = ["cached"]', '\nworkloads = ["cached", "other"]')
    only = 'columns = ["postgres:17.10", "mariadb:11.4.5"]\nworkloads = ["other"]'
    with configured.open("a") as file:
        file.write(f'\n[[table]]\nname = "second"\n{only}\n')
    nightshift("run", "--table", "second")
    ran = nightshift("table", "mixed")
    assert (ran.code, "Two DBMSs, cached: qps (1/s)\nRelative to: " in ran.out) == (0, True)
    assert "Two DBMSs, other: qps (1/s)\ncol-1" in ran.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("article", "mixed"), "run `nightshift run --table mixed`"),
        (("table", "mixed"), "run `nightshift run --table mixed`"),
        (("table", "mixt"), "has no table 'mixt'; did you mean mixed?"),
        (("table", "postgres:17.9"), "a table needs at least two columns"),
        (("table", "postgres:17.9", "postgrez:17.10"), "did you mean postgres"),
        (("table", "mixed", "--line", "minors"), "leave one of them out"),
        (("table", "rocksdb:9.0", "postgres:17.9"), "runs on rocksdb; add a [[workload]]"),
        (("run", "--table", "other"), "has no table 'other'"),
        (("table", "postgres:17.9+x99", "postgres:17.10"), "postgres:17.9+x99: "),
    ],
)
@pytest.mark.usefixtures("configured")
def test_what_no_table_can_show(
    nightshift: Nightshift, arguments: tuple[str, ...], message: str
) -> None:
    ran = nightshift(*arguments)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert message in ran.err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"postgres:17.10",', '"postgres:17.9",', "the column postgres:17.9 is given twice"),
        ('name = "mixed"', 'name = "mixed"\nbase = "postgres:17.8"', "not among the columns"),
        ('name = "mixed"', 'name = "mixed"\nworkloads = ["cachd"]', "did you mean cached?"),
        ('name = "mixed"', 'name = "mixed"\nmetrics = ["qqps"]', "did you mean qps?"),
    ],
)
def test_a_mistake_in_a_table_names_its_line(
    nightshift: Nightshift, configured: Path, old: str, new: str, message: str
) -> None:
    change(configured, old, new)
    ran = nightshift("table", "mixed")
    assert (ran.code, message in ran.err) == (2, True)
    assert ran.err.startswith("nightshift: nightshift.toml:")
