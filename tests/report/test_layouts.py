from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pipeline.config import ReportSection
from pipeline.report.grid import Grid
from pipeline.report.layouts import LAYOUTS, default_layout, make_grids
from pipeline.report.layouts.base import TableOptions
from pipeline.report.relative import Column
from pipeline.report.tables import MeasuredSubject
from pipeline.storage.steps import StepRemark
from pipeline.text.errors import UserError
from tests.report.subjects import marked, missed, subject

WISH = TableOptions(ReportSection())

READS = {"scan": "range queries without aggregation", "points": "point queries"}


def shown(grid: Grid) -> dict[str, dict[str, list[str]]]:
    """Return what stands in a grid: section -> row -> texts with their signs."""
    found: dict[str, dict[str, list[str]]] = {}
    for section in grid.sections:
        for row in section.rows:
            texts = [cell.text + cell.signs for cell in row.cells]
            found.setdefault(section.of, {}).setdefault(row.name, []).extend(texts)
    return found


def only(subjects: list[MeasuredSubject], layout: str, options: TableOptions = WISH) -> Grid:
    (grid,) = make_grids(subjects, options, layout)
    return grid


# --- relative and absolute -------------------------------------------------------------------


def test_relative_to_the_first_revision() -> None:
    figures = {"qps": {"scan at 17.10": 100.0, "scan at 17.11": 94.0, "points at 17.11": 7.0}}
    grid = only([subject(figures, groups=READS)], "relative")
    assert shown(grid) == {
        "point queries": {"points": ["-"]},
        "range queries without aggregation": {"scan": ["0.94"]},
    }
    assert (grid.heading, grid.numbered) == ("minors, cached: qps (1/s)", True)
    assert grid.base is not None
    assert grid.base.label == "17.10"
    assert [column.label for column in grid.columns] == ["17.11"]
    assert [cell.colour for cell in grid.sections[1].rows[0].cells] == ["yellow"]


def test_absolute_values_have_no_colour_and_chosen_decimals() -> None:
    figures = {"qps": {"scan at 17.10": 100.0, "scan at 17.11": 50.0}}
    grid = only([subject(figures)], "absolute", TableOptions(ReportSection(), decimals=1))
    assert shown(grid) == {"reads": {"scan": ["100.0", "50.0"]}}
    assert {cell.colour for cell in grid.sections[0].rows[0].cells} == {""}


def test_one_revision_is_shown_as_it_is() -> None:
    one = subject({"qps": {"scan at 17.10": 100.0}}, columns=["17.10"])
    grid = only([one], "relative")
    assert grid.base is None
    assert shown(grid) == {"reads": {"scan": ["100"]}}


def test_twenty_revisions() -> None:
    labels = [f"17.{number}" for number in range(20)]
    figures = {"qps": {f"scan at {label}": 100.0 + n for n, label in enumerate(labels)}}
    grid = only([subject(figures, columns=labels)], "relative")
    assert shown(grid)["reads"]["scan"] == [f"{1 + n / 100:.2f}" for n in range(1, 20)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_measured_is_no_grid(layout: str) -> None:
    assert make_grids([subject({})], WISH, layout) == []
    assert make_grids([], WISH, layout) == []


def test_what_was_published_relative_stays_so() -> None:
    given = subject({"qps": {"scan at 17.10": 1.5, "scan at 17.11": 0.5}})
    base = Column(label="17.9", name="17.9")
    published = replace(given, base=base, metrics=("qps",))
    grid = only([published], "relative")
    assert (grid.base, shown(grid)) == (base, {"reads": {"scan": ["1.50", "0.50"]}})
    assert make_grids([published], WISH, "absolute") == []
    other = only([published], "relative", TableOptions(ReportSection(), base="17.10"))
    assert shown(other) == {"reads": {"scan": ["0.33"]}}


# --- what is to be known of figures ----------------------------------------------------------


def test_a_failed_sla_is_marked_and_not_averaged_with_good_repetitions() -> None:
    figures = {"qps": {"scan at 17.10": [1.0, 100.0, 100.0], "scan at 17.11": [50.0]}}
    failed = [missed("scan", "17.10"), missed("scan", "17.11", "9 of 100 deletes/s")]
    grid = only([subject(figures, remarks=failed)], "absolute")
    assert shown(grid) == {"reads": {"scan": ["100!", "50!"]}}
    assert grid.notes == (
        "! scan at 17.10: SLA failed, 50 of 100 inserts/s",
        "! scan at 17.11: SLA failed, 9 of 100 deletes/s",
    )


def test_a_ratio_to_a_base_in_doubt_is_in_doubt() -> None:
    figures = {"qps": {"scan at 17.10": 100.0, "scan at 17.11": 100.0, "x at 17.11": 1.0}}
    remarks = [missed("scan", "17.10"), marked("scan", "17.11"), marked("x", "17.11")]
    grid = only([subject(figures, remarks=remarks)], "relative")
    assert shown(grid) == {"reads": {"scan": ["1.00!*"], "x": ["-"]}}
    assert grid.notes[1:] == ("* scan, x at 17.11: still warming",)


def test_a_mark_of_many_revisions_is_one_note() -> None:
    figures = {"qps": {"scan at 17.10": 1.0, "scan at 17.11": 1.0}}
    remarks = [marked("scan", label) for label in ("17.10", "17.10", "17.11")]
    grid = only([subject(figures, remarks=remarks)], "absolute")
    assert grid.notes == ("* scan at 17.10, 17.11: still warming",)


# --- summary ---------------------------------------------------------------------------------


def test_the_statistics_of_each_group() -> None:
    values = {"a": (10.0, 8.0), "b": (10.0, 12.0), "c": (10.0, 13.0), "d": (10.0, 9.0)}
    figures = {
        "qps": {
            f"{step} at {label}": value
            for step, pair in values.items()
            for label, value in zip(("17.10", "17.11"), pair, strict=True)
        }
    }
    groups = {"a": "reads", "b": "reads", "c": "reads", "d": "writes"}
    grid = only([subject(figures, groups=groups)], "summary")
    # avg 3.3 / 3, stdev of a sample: sqrt((0.3^2 + 0.1^2 + 0.2^2) / 2) = 0.2646
    assert shown(grid) == {
        "pg1711.x10a": {
            "reads": ["0.80", "1.30", "1.10", "1.20", "0.26"],
            "writes": ["0.90", "0.90", "0.90", "0.90", "-"],
        }
    }
    colours = [cell.colour for cell in grid.sections[0].rows[1].cells]
    assert colours == ["yellow", "blue", "blue", "blue", ""]


def test_statistics_leave_out_what_failed_its_sla() -> None:
    figures = {
        "qps": {
            **{f"{step} at 17.10": 10.0 for step in "ab"},
            "a at 17.11": 20.0,
            "b at 17.11": 1.0,
        }
    }
    grid = only([subject(figures, remarks=[missed("b", "17.11")])], "summary")
    assert shown(grid)["pg1711.x10a"]["reads"][:4] == ["2.00!"] * 4


def test_one_revision_has_no_statistics() -> None:
    one = subject({"qps": {"scan at 17.10": 1.0}}, columns=["17.10"])
    assert make_grids([one], WISH, "summary") == []


# --- per operation, averages, details --------------------------------------------------------


def hardware(**more: dict[str, float]) -> MeasuredSubject:
    return subject(
        {
            "qps": {"scan at 17.10": 1000.0, "scan at 17.11": 500.0, "x at 17.10": 5.0},
            "cs/o": {"scan at 17.10": 2.0, "scan at 17.11": 3.0},
            "cpu/o": {"scan at 17.10": 0.000557, "scan at 17.11": 0.001},
            "client_us/o": {"scan at 17.10": 10.04, "scan at 17.11": 10.0},
            **more,
        }
    )


def test_what_an_operation_costs_absolute_and_relative() -> None:
    absolute, relative = make_grids([hardware()], WISH, "per-operation")
    assert [(section.title, section.heads) for section in absolute.sections] == [
        ("scan", ("o/s",)),
        ("", ("cs/o", "cpu/o")),
        ("", ("client_us/o",)),
        ("x", ("o/s",)),
    ]
    assert shown(absolute) == {
        "scan": {
            "pg1710.x10a": ["1000", "2.000", ".000557", "10.0"],
            "pg1711.x10a": ["500", "3.000", ".001000", "10.0"],
        },
        "x": {"pg1710.x10a": ["5"], "pg1711.x10a": ["-"]},
    }
    assert dict(absolute.legend)["cs/o"] == "context switches of the host per operation"
    assert relative.base is not None
    assert shown(relative)["scan"] == {
        "pg1710.x10a": ["1.00"] * 4,
        "pg1711.x10a": ["0.50", "1.50", "1.80", "1.00"],
    }
    # More context switches are worse, as are fewer operations.
    row = relative.sections[1].rows[1]
    assert [cell.colour for cell in row.cells] == ["yellow", "yellow"]


def test_heads_are_explained_once() -> None:
    first, *others = make_grids([hardware(), hardware()], WISH, "per-operation")
    assert first.legend
    assert [grid.legend for grid in others] == [()] * 3


def test_costs_relative_to_a_chosen_base() -> None:
    _, relative = make_grids(
        [hardware()], TableOptions(ReportSection(), base="17.11"), "per-operation"
    )
    assert shown(relative)["scan"]["pg1710.x10a"] == ["2.00", "0.67", "0.56", "1.00"]
    with pytest.raises(UserError, match=r"minors, cached has no base '17\.1'"):
        make_grids([hardware()], TableOptions(ReportSection(), base="17.1"), "per-operation")


def test_one_revision_costs_what_it_costs() -> None:
    one = subject({"cs/o": {"scan at 17.10": 2.0}}, columns=["17.10"])
    assert [grid.base for grid in make_grids([one], WISH, "per-operation")] == [None]


def test_averages_have_a_section_for_each_revision() -> None:
    rates = {"r/s": {"scan at 17.10": 12.34}, "cs/s": {"scan at 17.11": 1500.4}}
    grid = only([hardware(**rates)], "averages")
    assert [section.heads for section in grid.sections] == [("r/s", "cs/s")] * 2
    assert shown(grid) == {
        "pg1710.x10a": {"scan": ["12.3", "-"]},
        "pg1711.x10a": {"scan": ["-", "1500"]},
    }


def test_the_details_of_a_step_have_the_published_columns() -> None:
    figures = {
        "qps": {"l.i0 at 17.10": 90_000.0, "qr100 at 17.10": 5000.0},
        "inserts/s": {"qr100 at 17.10": 99.6},
        "w/o": {"l.i0 at 17.10": 0.25, "qr100 at 17.10": 0.5},
        "w/i": {"qr100 at 17.10": 2.0},
        "dbsize": {"qr100 at 17.10": 3.0 * 1024**3},
        "rss": {"qr100 at 17.10": 1.5 * 1024**3},
        "latency_max": {"qr100 at 17.10": 250.0},
        "latency_p99": {"qr100 at 17.10": 1.25},
    }
    given = subject(figures, columns=["17.10"], family="insert_benchmark")
    grid = only([given, subject(figures, columns=["17.10"])], "details")
    assert [section.heads for section in grid.sections] == [
        ("ips", "qps", "wpi"),
        ("ips", "qps", "wpi", "dbgb", "rss", "maxop", "p99"),
    ]
    assert shown(grid) == {
        "l.i0": {"pg1710.x10a": ["90000", "90000", "0.250"]},
        "qr100": {"pg1710.x10a": ["100", "5000", "2.000", "3.00", "1.50", "0.250", "1.250"]},
    }


# --- scale-up --------------------------------------------------------------------------------


def at(clients: int, scan: float, name: str = "cached") -> MeasuredSubject:
    figures = {"qps": {"scan at 17.10": scan, "scan at 17.11": 2 * scan, "x at 17.10": 0.0}}
    remarks = [marked("scan", "17.11")] if clients == 4 else []
    return subject(figures, clients=clients, name=name, remarks=remarks)


def test_scale_up_is_over_the_fewest_clients() -> None:
    grid = only([at(8, 500.0), at(1, 100.0), at(4, 390.0), at(1, 7.0, "other")], "scale-up")
    assert grid.heading == "minors, cached: scale-up, qps(X) / qps(1) with X clients"
    assert grid.sections[0].heads == ("1", "4", "8")
    assert shown(grid) == {
        "pg1710.x10a": {"scan": ["1.00", "3.90", "5.00"], "x": ["-"] * 3},
        "pg1711.x10a": {"scan": ["1.00", "3.90*", "5.00"], "x": ["-"] * 3},
    }
    assert grid.notes == ("* scan at 17.11: still warming (4 clients)",)


def test_scale_up_from_a_figure_in_doubt_is_in_doubt() -> None:
    first = replace(at(1, 100.0), remarks=(missed("scan", "17.10"),))
    grid = only([first, at(4, 200.0)], "scale-up")
    assert shown(grid)["pg1710.x10a"]["scan"] == ["1.00!", "2.00!"]
    assert shown(grid)["pg1711.x10a"]["scan"] == ["1.00", "2.00*"]


def test_one_number_of_clients_has_no_scale_up() -> None:
    assert make_grids([at(4, 1.0), at(8, 1.0, "other")], WISH, "scale-up") == []


# --- Insert Benchmark ------------------------------------------------------------------------


def inserts(
    rate: float = 100.0, remarks: Sequence[StepRemark] = (), config: str = "x10a"
) -> MeasuredSubject:
    figures = {
        "qps": {
            "l.i0 at 17.10": 1000.0,
            "l.i0 at 17.11": 900.0,
            "qr100 at 17.10": 50.0,
            "qr100 at 17.11": 60.0,
        },
        "inserts/s": {"qr100 at 17.10": 99.0, "qr100 at 17.11": rate},
        "inserts_target": {"qr100 at 17.10": 100.0, "qr100 at 17.11": 100.0},
    }
    return subject(figures, family="insert_benchmark", name="ib", remarks=remarks, config=config)


def test_the_three_tables_of_the_insert_benchmark() -> None:
    given = inserts(94.0, remarks=[missed("qr100", "17.11", "94 of 100 inserts/s")])
    throughput, relative, achieved = make_grids([given], WISH)
    assert throughput.sections[0].heads == ("l.i0", "qr100")
    assert (throughput.names, throughput.sections[0].stub) == ("first", "dbms")
    assert shown(throughput) == {"": {"pg1710.x10a": ["1000", "50"], "pg1711.x10a": ["900", "60!"]}}
    assert shown(relative) == {
        "": {"pg1710.x10a": ["1.00", "1.00"], "pg1711.x10a": ["0.90", "1.20!"]}
    }
    assert achieved.sections[0].heads == ("qr100",)
    assert shown(achieved) == {
        "": {"target": ["100"], "pg1710.x10a": ["99"], "pg1711.x10a": ["94<"]}
    }
    assert [row.cells[0].colour for row in achieved.sections[0].rows] == ["", "", "red"]
    assert achieved.notes == (
        "< below 95% of the target",
        "! qr100 at 17.11: SLA failed, 94 of 100 inserts/s",
    )


def test_steps_come_in_the_order_of_the_workload() -> None:
    figures = {
        "qps": {"qp100 at 17.10": 1.0, "l.i0 at 17.10": 2.0},
        "cs/o": {"qp100 at 17.10": 1.0},
    }
    # Of a sysbench workload the point queries would come first.
    given = subject(
        figures,
        columns=["17.10"],
        family="insert_benchmark",
        groups={"qp100": "point queries"},
        steps=["l.i0", "qp100"],
    )
    (throughput,) = make_grids([given], WISH)
    assert throughput.sections[0].heads == ("l.i0", "qp100")
    (costs,) = make_grids([given], WISH, "per-operation")
    assert [section.of for section in costs.sections] == ["l.i0", "qp100", "qp100"]


def test_a_rate_of_95_percent_is_sustained() -> None:
    *_, achieved = make_grids([inserts(95.0)], WISH)
    assert achieved.notes == ()
    assert {cell.colour for row in achieved.sections[0].rows for cell in row.cells} == {""}


def test_the_colour_of_a_missed_rate_is_a_setting() -> None:
    *_, achieved = make_grids([inserts(9.0)], TableOptions(ReportSection(missed_colour="magenta")))
    assert achieved.sections[0].rows[2].cells[0].colour == "magenta"


def test_configurations_of_one_workload_stand_in_one_table() -> None:
    other = replace(inserts(config="x10b"), name="minors, ib-b")
    renamed = replace(other, workload=other.workload.model_copy(update={"name": "ib-b"}))
    _, relative, _ = make_grids([inserts(), renamed], WISH)
    assert list(shown(relative)[""]) == [
        *("pg1710.x10a", "pg1711.x10a"),
        *("pg1710.x10b", "pg1711.x10b"),
    ]
    assert relative.title == "minors, ib and minors, ib-b"
    larger = renamed.workload.scale.model_copy(update={"rows": 2000})
    apart = replace(renamed, workload=renamed.workload.model_copy(update={"scale": larger}))
    assert len(make_grids([inserts(), apart], WISH)) == 6


# --- tproc-c ---------------------------------------------------------------------------------


def tproc(users: int, warehouses: int, old: float, new: float) -> MeasuredSubject:
    return subject(
        {"nopm": {"tproc-c at 17.10": old, "tproc-c at 17.11": new}},
        family="tproc-c",
        name=f"wh{warehouses}",
        clients=users,
        options={"warehouses": warehouses},
        groups={"tproc-c": "tproc-c"},
    )


def test_nopm_has_a_row_for_each_scale() -> None:
    given = [tproc(10, 1000, 163059.4, 183268.0), tproc(20, 1000, 210506.0, 105253.0)]
    absolute, relative = make_grids([*given, at(1, 1.0)], WISH, "nopm")
    assert absolute.title == "minors, wh1000"
    assert absolute.sections[0].heads == ("pg1710.x10a", "pg1711.x10a")
    assert shown(absolute) == {
        "tproc-c": {
            "vu=10, wh=1000": ["163059", "183268"],
            "vu=20, wh=1000": ["210506", "105253"],
        }
    }
    assert shown(relative)["tproc-c"] == {
        "vu=10, wh=1000": ["1.000", "1.124"],
        "vu=20, wh=1000": ["1.000", "0.500"],
    }


def test_nopm_of_one_revision_has_no_ratios() -> None:
    one = subject({"nopm": {"t at 17.10": 5.0}}, columns=["17.10"], family="tproc-c")
    (grid,) = make_grids([one], WISH)
    assert shown(grid) == {"tproc-c": {"vu=1, wh=1": ["5"]}}


# --- which layout ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "layout"),
    [
        ("sysbench", "relative"),
        ("db_bench", "relative"),
        ("insert_benchmark", "insert-benchmark"),
        ("tproc-c", "nopm"),
    ],
)
def test_each_family_has_its_layout(family: str, layout: str) -> None:
    assert default_layout(subject({}, family=family)) == layout


@pytest.mark.parametrize(
    ("metrics", "workload", "layout"),
    [
        (("qps",), "sysbench", "relative"),
        (("qps",), "insert benchmark", "insert-benchmark"),
        (("nopm",), "tproc-c", "nopm"),
        (("cs", "us"), "tproc-c", "averages"),
        (("alloc_B/o", "time_us/o"), "go", "relative"),
        (("latency_avg", "qps"), "mine", "relative"),
        (("cs/o", "o/s"), "sysbench", "per-operation"),
        (("avg", "max", "median", "min", "stdev"), "sysbench", "summary"),
    ],
)
def test_an_imported_table_has_the_layout_of_its_metrics(
    metrics: tuple[str, ...], workload: str, layout: str
) -> None:
    assert default_layout(replace(subject({}, name=workload), metrics=metrics)) == layout
