from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from rich.console import Console

from pipeline.config import ReportSection
from pipeline.report.relative import Column, Group, Table, TableRow
from pipeline.report.render import (
    BETTER,
    WORSE,
    as_csv,
    as_json,
    as_markdown,
    as_text,
    colour_of,
    format_value,
)
from pipeline.store.published import read_published

SETTINGS = ReportSection()

RELATIVE = Table(
    title="minors, cached",
    metric="qps",
    base=Column(label="17.6", name="17.6"),
    columns=(
        Column(label="b", name="18.0 with the x10b config"),
        Column(label="c", name="18.0 with the x10c config"),
        Column(label="d", name="18.0 with the x10d config"),
    ),
    groups=(
        Group(
            name="point queries",
            rows=(
                TableRow(step="hot-points_range=100", values=(1.0, 0.99, 1.004)),
                TableRow(step="point-query_range=100", values=(0.95, 1.05, None)),
            ),
        ),
        Group(
            name="writes", rows=(TableRow(step="insert_range=100", values=(0.9, 12.346, 0.951)),)
        ),
    ),
)
ABSOLUTE = Table(
    title="pg, cached",
    metric="qps",
    base=None,
    columns=(
        Column(label="17.10", name="pg1710", target="postgres"),
        Column(label="17.11", name="pg1711", target="postgres"),
    ),
    groups=(
        Group(
            name="writes",
            rows=(
                TableRow(step="insert", values=(0.1 + 0.2, 1234567.5)),
                TableRow(step="delete, all", values=(None, 3.0)),
            ),
        ),
    ),
)

PUBLISHED_LAYOUT = """\
Relative to: 17.6
col-1 : 18.0 with the x10b config
col-2 : 18.0 with the x10c config
col-3 : 18.0 with the x10d config

col-1   col-2   col-3   point queries
1.00    0.99    1.00    hot-points_range=100
0.95    1.05    -       point-query_range=100

col-1   col-2   col-3   writes
0.90    12.35   0.95    insert_range=100
"""


def test_the_text_is_the_published_layout() -> None:
    title, _, rest = as_text(RELATIVE, SETTINGS).plain.partition("\n")
    assert title == "minors, cached: qps (1/s)"
    assert rest == PUBLISHED_LAYOUT


def test_wide_values_widen_every_group_alike() -> None:
    lines = as_text(ABSOLUTE, SETTINGS).plain.splitlines()
    assert lines == [
        "pg, cached: qps (1/s)",
        "col-1 : pg1710",
        "col-2 : pg1711",
        "",
        "col-1    col-2    writes",
        "0.3      1234568  insert",
        "-        3        delete, all",
    ]


def test_worse_is_yellow_and_better_is_blue() -> None:
    text = as_text(RELATIVE, SETTINGS)
    coloured = {
        text.plain[span.start : span.end].strip(): str(span.style)
        for span in text.spans
        if str(span.style) in (WORSE, BETTER)
    }
    assert coloured == {"0.95": WORSE, "1.05": BETTER, "0.90": WORSE, "12.35": BETTER}


def test_off_a_terminal_there_are_no_colours() -> None:
    console = Console(force_terminal=False, width=40, soft_wrap=True)
    with console.capture() as captured:
        console.print(as_text(RELATIVE, SETTINGS))
    assert "\x1b" not in captured.get()


@pytest.mark.parametrize(
    ("metric", "ratio", "colour"),
    [
        ("qps", 0.95, WORSE),
        ("qps", 0.951, ""),
        ("qps", 1.0, ""),
        ("qps", 1.049, ""),
        ("qps", 1.05, BETTER),
        ("qps", 0.0, WORSE),
        ("cpu_us/o", 1.053, WORSE),
        ("cpu_us/o", 1.052, ""),
        ("cpu_us/o", 0.952, BETTER),
        ("cpu_us/o", 0.953, ""),
        ("cpu_us/o", 0.0, BETTER),
        ("of a published table", 0.5, WORSE),
        ("qps", None, ""),
    ],
)
def test_the_colour_of_a_ratio(metric: str, ratio: float | None, colour: str) -> None:
    assert colour_of(metric, ratio, SETTINGS) == colour


def test_the_limits_of_the_colours_are_the_users() -> None:
    narrow = ReportSection(worse=0.99, better=1.01)
    assert colour_of("qps", 0.98, narrow) == WORSE
    assert colour_of("qps", 1.02, narrow) == BETTER


@pytest.mark.parametrize(
    ("value", "relative", "decimals", "text"),
    [
        (None, True, None, "-"),
        (None, False, 3, "-"),
        (0.999, True, None, "1.00"),
        (0.5, True, 3, "0.500"),
        (123.4, False, None, "123"),
        (99.94, False, None, "99.9"),
        (0.01234, False, None, "0.0123"),
        (0.0001234, False, None, "1.23e-04"),
        (0.0, False, None, "0"),
        (-250.0, False, None, "-250"),
        (12.0, False, 1, "12.0"),
    ],
)
def test_values_show_the_digits_they_need(
    value: float | None, relative: bool, decimals: int | None, text: str
) -> None:
    assert format_value(value, relative, decimals) == text


def test_markdown_is_the_same_table() -> None:
    assert as_markdown(RELATIVE, SETTINGS) == (
        "### minors, cached: qps (1/s)\n"
        "\n"
        "Relative to: 17.6\n"
        "\n"
        "- col-1: 18.0 with the x10b config\n"
        "- col-2: 18.0 with the x10c config\n"
        "- col-3: 18.0 with the x10d config\n"
        "\n"
        "| col-1 | col-2 | col-3 | point queries |\n"
        "| ---: | ---: | ---: | :--- |\n"
        "| 1.00 | 0.99 | 1.00 | hot-points_range=100 |\n"
        "| **0.95** | *1.05* | - | point-query_range=100 |\n"
        "\n"
        "| col-1 | col-2 | col-3 | writes |\n"
        "| ---: | ---: | ---: | :--- |\n"
        "| **0.90** | *12.35* | 0.95 | insert_range=100 |\n"
    )


def test_markdown_keeps_strange_names_in_their_cells() -> None:
    strange = ABSOLUTE.model_copy(
        update={
            "columns": (Column(label="a", name="one\ntwo"), Column(label="b", name="x|y")),
            "groups": (Group(name="g|h", rows=(TableRow(step="s|t\nu", values=(1.0, 2.0)),)),),
        }
    )
    assert as_markdown(strange, SETTINGS).splitlines()[2:] == [
        "- col-1: one two",
        "- col-2: x\\|y",
        "",
        "| col-1 | col-2 | g\\|h |",
        "| ---: | ---: | :--- |",
        "| 1 | 2 | s\\|t u |",
    ]


def test_csv_has_exact_values() -> None:
    assert as_csv(ABSOLUTE, SETTINGS) == (
        "# title: pg, cached\n"
        "# metric: qps\n"
        "# kind: absolute\n"
        "# target: postgres\n"
        "step,group,pg1710,pg1711\n"
        "insert,writes,0.30000000000000004,1234567.5\n"
        '"delete, all",writes,,3.0\n'
    )


def test_relative_csv_says_of_what() -> None:
    lines = as_csv(RELATIVE, SETTINGS, decimals=2).splitlines()
    assert lines[2:4] == ["# kind: relative", "# base: 17.6"]
    first = list(csv.reader(lines[4:]))[1]
    assert first == ["hot-points_range=100", "point queries", "1.00", "0.99", "1.00"]


def test_absolute_csv_can_be_read_as_a_published_table(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(as_csv(ABSOLUTE, SETTINGS))
    read = read_published(path)
    assert read.versions == ("pg1710", "pg1711")
    assert [(step.name, step.group) for step in read.steps] == [
        ("insert", "writes"),
        ("delete, all", "writes"),
    ]
    assert read.values["pg1710"] == {"insert": {"qps": 0.1 + 0.2}, "delete, all": {}}
    assert read.values["pg1711"] == {"insert": {"qps": 1234567.5}, "delete, all": {"qps": 3.0}}
    assert read.heading["target"] == "postgres"


def test_a_csv_of_several_targets_names_each() -> None:
    columns = (
        Column(label="a", name="pg18", target="postgres"),
        Column(label="b", name="my8", target="mysql"),
    )
    mixed = ABSOLUTE.model_copy(update={"columns": columns})
    assert "# column-targets: pg18=postgres; my8=mysql\n" in as_csv(mixed, SETTINGS)


def test_json_is_the_whole_table() -> None:
    assert Table.model_validate_json(as_json(RELATIVE, SETTINGS)) == RELATIVE
    missing = json.loads(as_json(RELATIVE, SETTINGS))["groups"][0]["rows"][1]["values"][2]
    assert missing is None
