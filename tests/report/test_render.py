from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from rich.console import Console

from pipeline.config import ReportSection
from pipeline.report.cells import colour_of, format_value, published_cell, ratio_cell, tone_of
from pipeline.report.grid import Grid, GridRow, TableCell, TableSection
from pipeline.report.relative import Column
from pipeline.report.render import FORMATS
from pipeline.report.render.delimited import as_csv, as_tsv
from pipeline.report.render.json import as_json
from pipeline.report.render.markdown import as_markdown
from pipeline.report.render.text import as_text
from pipeline.storage.published import read_published

SETTINGS = ReportSection()


def row(name: str, *values: float | None) -> GridRow:
    return GridRow(name=name, cells=tuple(ratio_cell("qps", value, SETTINGS) for value in values))


def section(group: str, heads: tuple[str, ...], *rows: GridRow) -> TableSection:
    return TableSection(of=group, stub=group, heads=heads, rows=rows)


NAMES = tuple(f"18.0 with the {config} config" for config in ("x10b", "x10c", "x10d"))
RELATIVE = Grid(
    title="minors, cached",
    metric="qps",
    base=Column(label="17.6", name="17.6"),
    columns=tuple(Column(label=name[-10], name=name) for name in NAMES),
    sections=(
        section(
            "point queries",
            NAMES,
            row("hot-points_range=100", 1.0, 0.99, 1.004),
            row("point-query_range=100", 0.95, 1.05, None),
        ),
        section("writes", NAMES, row("insert_range=100", 0.9, 12.346, 0.951)),
    ),
    rows_are="step",
    sections_are="group",
    names="last",
    numbered=True,
)
ABSOLUTE = Grid(
    title="pg, cached",
    metric="qps",
    base=None,
    columns=(
        Column(label="17.10", name="pg1710", target="postgres"),
        Column(label="17.11", name="pg1711", target="postgres"),
    ),
    sections=(
        section(
            "writes",
            ("pg1710", "pg1711"),
            GridRow(
                name="insert",
                cells=(
                    TableCell(value=0.1 + 0.2, text="0.3"),
                    TableCell(value=1234567.5, text="1234568"),
                ),
            ),
            GridRow(
                name="delete, all",
                cells=(TableCell(value=None, text="-"), TableCell(value=3.0, text="3")),
            ),
        ),
    ),
    rows_are="step",
    sections_are="group",
    names="last",
    numbered=True,
)
BY_REVISION = Grid(
    title="minors, ib",
    metric="",
    what="a look",
    base=None,
    columns=(Column(label="17.10", name="pg1710"),),
    sections=(
        TableSection(
            of="l.i0",
            title="l.i0",
            stub="dbms",
            heads=("ips", "p99"),
            rows=(
                GridRow(
                    name="pg1710",
                    cells=(
                        TableCell(value=1.0, text="1", signs="!"),
                        TableCell(value=2.0, text="2"),
                    ),
                ),
            ),
        ),
        TableSection(
            of="l.i0",
            stub="dbms",
            heads=("rss",),
            rows=(GridRow(name="pg1710", cells=(TableCell(value=3.5, text="3.50"),)),),
        ),
    ),
    rows_are="dbms",
    sections_are="step",
    names="first",
    legend=(("ips", "inserts | second"),),
    notes=("! SLA failed",),
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
    title, _, rest = as_text(RELATIVE).plain.partition("\n")
    assert title == "minors, cached: qps (1/s)"
    assert rest == PUBLISHED_LAYOUT


def test_wide_values_widen_every_group_alike() -> None:
    lines = as_text(ABSOLUTE).plain.splitlines()
    assert lines == [
        "pg, cached: qps (1/s)",
        "col-1 : pg1710",
        "col-2 : pg1711",
        "",
        "col-1    col-2    writes",
        "0.3      1234568  insert",
        "-        3        delete, all",
    ]


def test_names_may_come_first_and_sections_may_have_titles() -> None:
    assert as_text(BY_REVISION).plain.splitlines() == [
        "minors, ib: a look",
        "ips : inserts | second",
        "",
        "l.i0",
        "dbms    ips     p99",
        "pg1710  1!      2",
        "",
        "dbms    rss",
        "pg1710  3.50",
        "",
        "! SLA failed",
    ]


def test_worse_is_yellow_and_better_is_blue() -> None:
    text = as_text(RELATIVE)
    coloured = {
        text.plain[span.start : span.end].strip(): str(span.style)
        for span in text.spans
        if str(span.style) in ("yellow", "blue")
    }
    assert coloured == {"0.95": "yellow", "1.05": "blue", "0.90": "yellow", "12.35": "blue"}


def test_a_colour_has_the_terminals_name() -> None:
    grey = ReportSection(between_colour="grey")
    cells = (ratio_cell("qps", 1.0, grey),)
    of = section("writes", ("a",), GridRow(name="insert", cells=cells))
    text = as_text(RELATIVE.model_copy(update={"sections": (of,)}))
    assert "bright_black" in {str(span.style) for span in text.spans}
    console = Console(force_terminal=True, color_system="standard", width=80)
    with console.capture() as captured:
        console.print(text)
    assert "\x1b[90m1.00" in captured.get()


@pytest.mark.parametrize("width", [20, 40, 200])
def test_off_a_terminal_there_are_no_colours_and_no_breaks(width: int) -> None:
    console = Console(force_terminal=False, width=width, soft_wrap=True)
    with console.capture() as captured:
        console.print(as_text(RELATIVE), end="")
    assert captured.get() == as_text(RELATIVE).plain


def test_twenty_revisions_stand_side_by_side() -> None:
    names = tuple(f"pg17{number}_o2nofp.x10a_c8r32" for number in range(20))
    columns = tuple(Column(label=name, name=name) for name in names)
    of = section("writes", names, row("insert", *(0.5 + number / 20 for number in range(20))))
    grid = RELATIVE.model_copy(update={"columns": columns, "sections": (of,)})
    lines = as_text(grid).plain.splitlines()
    assert lines[21] == f"col-20 : {names[19]}"
    heads, values = lines[-2:]
    assert heads.split() == [*(f"col-{number}" for number in range(1, 21)), "writes"]
    assert values == "".join(f"{0.5 + n / 20:.2f}".ljust(8) for n in range(20)) + "insert"


@pytest.mark.parametrize(
    ("metric", "ratio", "tone"),
    [
        ("qps", 0.95, "worse"),
        ("qps", 0.951, ""),
        ("qps", 1.0, ""),
        ("qps", 1.049, ""),
        ("qps", 1.05, "better"),
        ("qps", 0.0, "worse"),
        ("cpu_us/o", 1.053, "worse"),
        ("cpu_us/o", 1.052, ""),
        ("cpu_us/o", 0.952, "better"),
        ("cpu_us/o", 0.953, ""),
        ("cpu_us/o", 0.0, "better"),
        ("of a published table", 0.5, "worse"),
        ("qps", None, ""),
    ],
)
def test_the_colour_of_a_ratio(metric: str, ratio: float | None, tone: str) -> None:
    assert tone_of(metric, ratio, SETTINGS) == tone
    assert colour_of(metric, ratio, SETTINGS) == {"worse": "yellow", "better": "blue", "": ""}[tone]


def test_the_limits_of_the_colours_are_the_users() -> None:
    narrow = ReportSection(worse=0.99, better=1.01)
    assert tone_of("qps", 0.98, narrow) == "worse"
    assert tone_of("qps", 1.02, narrow) == "better"


OF_2024 = ReportSection(worse_colour="red", better_colour="green", between_colour="grey")
OF_2026 = ReportSection(further=((0.75, "red"), (1.1, "green")))


@pytest.mark.parametrize(
    ("settings", "colours"),
    [
        # As in the reports of 2024: red <= 0.95, green >= 1.05, grey between.
        (OF_2024, {0.95: "red", 0.96: "grey", 1.04: "grey", 1.05: "green", 0.1: "red"}),
        # The column of MySQL in the report of June 2026.
        (
            OF_2026,
            {0.71: "red", 0.93: "yellow", 1.01: "", 1.06: "blue", 1.14: "green", 1.93: "green"},
        ),
    ],
)
def test_the_colours_of_the_reports(settings: ReportSection, colours: dict[float, str]) -> None:
    assert {ratio: colour_of("qps", ratio, settings) for ratio in colours} == colours
    # Where less is better the limits are turned over, the farther ones too.
    for ratio, colour in colours.items():
        beyond = 1.0001 if ratio < 1 else 0.9999
        assert colour_of("cs/o", beyond / ratio, settings) == colour


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (None, None, "-"),
        (None, 3, "-"),
        (0.5, 3, "0.500"),
        (123.4, None, "123"),
        (99.94, None, "99.9"),
        (0.01234, None, "0.0123"),
        (0.0001234, None, "1.23e-04"),
        (0.0, None, "0"),
        (-250.0, None, "-250"),
        (12.0, 1, "12.0"),
    ],
)
def test_values_show_the_digits_they_need(
    value: float | None, decimals: int | None, text: str
) -> None:
    assert format_value(value, decimals) == text


@pytest.mark.parametrize(
    ("metric", "value", "decimals", "text"),
    [
        ("r/s", 35503.0, None, "35503.0"),
        ("rKB/o", 14.82361, None, "14.824"),
        ("cpu/o", 0.000557, None, ".000557"),
        ("cpu/o", 1.5, None, "1.500000"),
        ("cpu/o", 0.0, 0, "0"),
        ("cpu/o", None, None, "-"),
        ("cpu_us/o", 1234.5, None, "1234"),
    ],
)
def test_absolute_values_have_the_published_decimals(
    metric: str, value: float | None, decimals: int | None, text: str
) -> None:
    assert published_cell(metric, value, decimals).text == text


def test_markdown_is_the_same_table() -> None:
    assert as_markdown(RELATIVE) == (
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
    of = section("g|h", ("one\ntwo", "x|y"), row("s|t\nu", 1.0, 1.0))
    strange = ABSOLUTE.model_copy(update={"sections": (of,)})
    assert as_markdown(strange).splitlines()[2:] == [
        "- col-1: one two",
        "- col-2: x\\|y",
        "",
        "| col-1 | col-2 | g\\|h |",
        "| ---: | ---: | :--- |",
        "| 1.00 | 1.00 | s\\|t u |",
    ]


def test_markdown_of_titled_sections() -> None:
    assert as_markdown(BY_REVISION) == (
        "### minors, ib: a look\n"
        "\n"
        "- ips: inserts \\| second\n"
        "\n"
        "#### l.i0\n"
        "\n"
        "| dbms | ips | p99 |\n"
        "| :--- | ---: | ---: |\n"
        "| pg1710 | 1\\! | 2 |\n"
        "\n"
        "| dbms | rss |\n"
        "| :--- | ---: |\n"
        "| pg1710 | 3.50 |\n"
        "\n"
        "- ! SLA failed\n"
    )


def test_csv_has_exact_values() -> None:
    assert as_csv(ABSOLUTE) == (
        "# title: pg, cached\n"
        "# metric: qps\n"
        "# kind: absolute\n"
        "# target: postgres\n"
        "step,group,pg1710,pg1711\n"
        "insert,writes,0.30000000000000004,1234567.5\n"
        '"delete, all",writes,,3.0\n'
    )
    assert as_tsv(ABSOLUTE).splitlines()[4:] == [
        "step\tgroup\tpg1710\tpg1711",
        "insert\twrites\t0.30000000000000004\t1234567.5",
        "delete, all\twrites\t\t3.0",
    ]


def test_relative_csv_says_of_what() -> None:
    lines = as_csv(RELATIVE.model_copy(update={"decimals": 2})).splitlines()
    assert lines[2:4] == ["# kind: relative", "# base: 17.6"]
    first = list(csv.reader(lines[4:]))[1]
    assert first == ["hot-points_range=100", "point queries", "1.00", "0.99", "1.00"]


def test_csv_leaves_out_what_failed_its_sla_and_begins_anew_where_heads_change() -> None:
    assert as_csv(BY_REVISION) == (
        "# title: minors, ib\n"
        "# values: a look\n"
        "# note: ! SLA failed\n"
        "dbms,step,ips,p99\n"
        "pg1710,l.i0,,2.0\n"
        "\n"
        "dbms,step,rss\n"
        "pg1710,l.i0,3.5\n"
    )


def test_no_name_in_a_csv_is_a_formula() -> None:
    (section,) = ABSOLUTE.sections
    row = section.rows[0].model_copy(update={"name": "=cmd|' /C calc'!A0"})
    wanted = {"of": "+writes", "heads": ("@pg1710", "-pg1711"), "rows": (row,)}
    hostile = section.model_copy(update=wanted)
    lines = as_csv(ABSOLUTE.model_copy(update={"sections": (hostile,)})).splitlines()
    assert lines[4:] == [
        "step,group,'@pg1710,'-pg1711",
        "'=cmd|' /C calc'!A0,'+writes,0.30000000000000004,1234567.5",
    ]


def test_csv_of_rows_with_nothing_in_common() -> None:
    of = ABSOLUTE.sections[0].model_copy(update={"of": ""})
    lines = as_csv(ABSOLUTE.model_copy(update={"sections": (of,)})).splitlines()
    assert lines[4:] == [
        "step,pg1710,pg1711",
        "insert,0.30000000000000004,1234567.5",
        '"delete, all",,3.0',
    ]


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_an_absolute_table_can_be_read_as_a_published_one(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"table.{form}"
    path.write_text(FORMATS[form](ABSOLUTE))
    read = read_published(path)
    assert read.versions == ("pg1710", "pg1711")
    assert [(step.name, step.group) for step in read.steps] == [
        ("insert", "writes"),
        ("delete, all", "writes"),
    ]
    assert read.values["pg1710"] == {"insert": {"qps": 0.1 + 0.2}, "delete, all": {}}
    assert read.values["pg1711"] == {"insert": {"qps": 1234567.5}, "delete, all": {"qps": 3.0}}
    assert read.heading["target"] == "postgres"


def test_a_relative_table_can_be_read_with_its_base(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(as_csv(RELATIVE))
    read = read_published(path)
    assert (read.base, read.versions) == ("17.6", NAMES)
    assert read.values[NAMES[0]]["insert_range=100"] == {"qps": 0.9}


def test_a_csv_of_several_targets_names_each() -> None:
    columns = (
        Column(label="a", name="pg18", target="postgres"),
        Column(label="b", name="my8", target="mysql"),
    )
    mixed = ABSOLUTE.model_copy(update={"columns": columns})
    assert "# column-targets: pg18=postgres; my8=mysql\n" in as_csv(mixed)


def test_json_has_every_value_and_sign() -> None:
    found = json.loads(as_json(RELATIVE))
    assert (found["title"], found["metric"], found["base"]["name"]) == (
        "minors, cached",
        "qps",
        "17.6",
    )
    assert [column["name"] for column in found["columns"]] == list(NAMES)
    assert [group["name"] for group in found["groups"]] == ["point queries", "writes"]
    assert found["groups"][0]["rows"] == [
        {"step": "hot-points_range=100", "values": [1.0, 0.99, 1.004]},
        {"step": "point-query_range=100", "values": [0.95, 1.05, None]},
    ]
    by_revision = json.loads(as_json(BY_REVISION))
    assert by_revision["groups"][0]["rows"] == [
        {"dbms": "pg1710", "values": [1.0, 2.0], "signs": ["!", ""]}
    ]
    assert by_revision["notes"] == ["! SLA failed"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_grid_without_sections_is_no_error(form: str) -> None:
    empty = RELATIVE.model_copy(update={"sections": (), "columns": ()})
    assert "minors, cached" in FORMATS[form](empty)
    assert as_text(empty).plain == "minors, cached: qps (1/s)\nRelative to: 17.6\n"
