"""The reference tables in ``results/published``: readable, complete, and true to each other.

A published number stands for an interval: 0.97 means 0.965 to 0.975. Two published tables agree
where the intervals of the numbers that must be equal overlap. Where absolute values are published,
the published relative ones must be exactly their quotient, rounded.
"""

import csv
import math
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

PUBLISHED = Path(__file__).resolve().parents[2] / "results" / "published"

REQUIRED_KEYS = {
    "title",
    "source",
    "target",
    "workload",
    "kind",
    "metric",
    "unit",
    "machine",
}
OPTIONAL_KEYS = {
    "absolute",
    "base",
    "clients",
    "column-targets",
    "config",
    "legend",
    "notes",
    "scale",
}
TARGETS = {"mariadb", "mysql", "postgres"}
GROUPS = {
    "insert benchmark",
    "point queries",
    "range queries with aggregation",
    "range queries without aggregation",
    "tproc-c",
    "writes",
}

# Rows and version columns of every table as counted in the posts: a lost line or column must not
# go unseen.
SHAPES = {
    "2024-02-12-postgres-insert-benchmark-ser4-cached-relative.csv": (10, 1),
    "2024-02-12-postgres-insert-benchmark-ser4-io-bound-relative.csv": (10, 1),
    "2024-02-12-postgres-insert-benchmark-ser7-cached-relative.csv": (10, 1),
    "2024-02-12-postgres-insert-benchmark-ser7-io-bound-relative.csv": (10, 1),
    "2024-02-16-mysql-sysbench-ser4-base-5.6.21-summary-relative.csv": (25, 1),
    "2024-02-19-postgres-sysbench-ser4-base-10.23-summary-relative.csv": (25, 1),
    "2024-02-19-postgres-sysbench-ser4-base-14.10-summary-relative.csv": (25, 1),
    "2024-02-19-postgres-sysbench-ser4-base-9.0.23-summary-relative.csv": (25, 1),
    "2025-09-02-postgres-sysbench-ax162-s-base-17.4-relative.csv": (33, 5),
    "2025-09-11-postgres-sysbench-7865-base-17.6-relative.csv": (32, 1),
    "2025-09-11-postgres-sysbench-ax162-s-base-17.6-relative.csv": (32, 2),
    "2025-09-11-postgres-sysbench-pn53-base-17.6-relative.csv": (32, 2),
    "2025-09-26-postgres-sysbench-pn53-base-12.22-relative.csv": (32, 6),
    "2025-09-26-postgres-sysbench-pn53-base-17.6-relative.csv": (32, 3),
    "2025-09-29-postgres-sysbench-7049a-t-base-12.22-relative.csv": (32, 6),
    "2025-09-29-postgres-sysbench-7049a-t-base-17.6-relative.csv": (32, 3),
    "2025-12-10-mysql-insert-benchmark-pn53-cached-relative.csv": (10, 6),
    "2025-12-10-mysql-insert-benchmark-pn53-io-bound-relative.csv": (10, 6),
    "2026-02-15-mysql-tproc-c-nopm-absolute.csv": (9, 5),
    "2026-02-15-postgres-mysql-tproc-c-iostat-absolute.csv": (6, 2),
    "2026-02-15-postgres-mysql-tproc-c-nopm-absolute.csv": (9, 2),
    "2026-02-15-postgres-mysql-tproc-c-vmstat-absolute.csv": (18, 2),
    "2026-02-15-postgres-tproc-c-nopm-absolute.csv": (9, 7),
    "2026-02-15-postgres-tproc-c-nopm-relative.csv": (9, 7),
    "2026-02-16-mariadb-sysbench-pn53-base-z12b-relative.csv": (10, 3),
    "2026-02-16-mariadb-sysbench-pn53-base-z12b_sync-relative.csv": (10, 1),
    "2026-02-17-mariadb-insert-benchmark-pn53-cpu-bound-all-versions-relative.csv": (10, 4),
    "2026-02-17-mariadb-insert-benchmark-pn53-cpu-bound-sync-only-relative.csv": (10, 2),
    "2026-02-17-mariadb-insert-benchmark-pn53-io-bound-all-versions-relative.csv": (10, 4),
    "2026-02-17-mariadb-insert-benchmark-pn53-io-bound-sync-only-relative.csv": (10, 2),
    "2026-06-11-postgres-mysql-sysbench-ax162-s-base-15.17-relative.csv": (10, 5),
    "2026-06-11-postgres-mysql-sysbench-ax162-s-per-operation-absolute.csv": (36, 2),
}

# Published relative values that are not absolute / base, rounded:
# (relative file, step, column) -> why.
QUOTIENT_MISMATCHES: dict[tuple[str, str, str], str] = {}

# One measurement in two relative tables of a post: (table on the old base, its column of the new
# base, its column, table on the new base, its column). Old column over old column of the new base
# must be the new column.
REBASED = [
    (
        "2025-09-26-postgres-sysbench-pn53-base-12.22-relative.csv",
        "17.6",
        "18.0 x10b",
        "2025-09-26-postgres-sysbench-pn53-base-17.6-relative.csv",
        "18.0 x10b",
    ),
    (
        "2025-09-29-postgres-sysbench-7049a-t-base-12.22-relative.csv",
        "17.6",
        "18.0 x10b",
        "2025-09-29-postgres-sysbench-7049a-t-base-17.6-relative.csv",
        "18.0 x10b",
    ),
    (
        "2026-02-16-mariadb-sysbench-pn53-base-z12b-relative.csv",
        "z12b_sync",
        "z12c_sync",
        "2026-02-16-mariadb-sysbench-pn53-base-z12b_sync-relative.csv",
        "z12c_sync",
    ),
    *(
        (
            f"2026-02-17-mariadb-insert-benchmark-pn53-{bound}-all-versions-relative.csv",
            "ma120300_rel_withdbg.cz12b_sync_c8r32",
            "ma120300_rel_withdbg.cz12c_sync_c8r32",
            f"2026-02-17-mariadb-insert-benchmark-pn53-{bound}-sync-only-relative.csv",
            "ma120300_rel_withdbg.cz12c_sync_c8r32",
        )
        for bound in ("cpu-bound", "io-bound")
    ),
]

# (table on the new base, step) -> why the two tables cannot both be right.
REBASED_MISMATCHES: dict[tuple[str, str], str] = {}

# Per-operation metric -> (rate it is made of, factor): value = rate * factor / (o/s).
PER_OPERATION = {
    "r/o": ("r/s", 1),
    "rKB/o": ("rMB/s", 1024),
    "wKB/o": ("wMB/s", 1024),
    "cs/o": ("cs/s", 1),
    "cpu/o": ("cpu/s", 1),
}

# (step, metric) of per-operation rows whose two values are the rate over the o/s of the *other*
# column: in the post the two lines of this vmstat table carry each other's name, or were divided
# by each other's throughput.
CROSSED = {("insert", "cs/o"), ("insert", "cpu/o")}


@dataclass(frozen=True)
class Table:
    """One table: comment keys, version columns, cells by (step, metric, column) as published."""

    name: str
    keys: dict[str, str]
    columns: list[str]
    rows: list[dict[str, str]]
    cells: dict[tuple[str, str, str], str]


def read(name: str) -> Table:
    """Read a table strictly; a repeated key, a ragged row or a repeated step fails here."""
    lines = (PUBLISHED / name).read_text(encoding="utf-8").splitlines()
    keys: dict[str, str] = {}
    start = next(number for number, line in enumerate(lines) if not line.startswith("#"))
    for line in lines[:start]:
        match = re.fullmatch(r"# ([a-z-]+): (\S.*)", line)
        assert match, f"{name}: no '# key: value': {line!r}"
        assert match[1] not in keys, f"{name}: key {match[1]} twice"
        keys[match[1]] = match[2]
    header, *body = csv.reader(lines[start:], strict=True)
    fixed = ["step", "group", "metric"] if "metric" in header else ["step", "group"]
    assert header[: len(fixed)] == fixed, f"{name}: header {header}"
    columns = header[len(fixed) :]
    assert columns and len(set(columns)) == len(columns), f"{name}: columns {columns}"
    rows, cells = [], {}
    for values in body:
        assert len(values) == len(header), f"{name}: {len(values)} cells in {values}"
        row = dict(zip(header, values, strict=True))
        rows.append(row)
        for column in columns:
            cell = (row["step"], row.get("metric", keys["metric"]), column)
            assert cell not in cells, f"{name}: {cell} twice"
            cells[cell] = row[column]
    return Table(name, keys, columns, rows, cells)


def interval(published: str) -> tuple[float, float]:
    """Lowest and highest value that rounds to a published number."""
    decimals = len(published.partition(".")[2])
    half = 0.5 * 10**-decimals
    value = float(published)
    return value - half, value + half


def quotients_overlap(numerator: str, denominator: str, result: str, factor: float = 1.0) -> bool:
    """Whether numerator * factor / denominator can be the result, all three rounded."""
    low_n, high_n = interval(numerator)
    low_d, high_d = interval(denominator)
    low, high = interval(result)
    assert low_d > 0
    slack = 1e-9  # binary fractions, not a tolerance
    return (
        max(low_n, 0.0) * factor / high_d <= high + slack and low - slack <= high_n * factor / low_d
    )


def test_the_folder_holds_exactly_the_known_tables() -> None:
    assert {path.name for path in PUBLISHED.glob("*.csv")} == set(SHAPES)


def test_the_readme_names_every_table_and_no_other() -> None:
    text = (PUBLISHED / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(\d{4}-\d\d-\d\d-[^`]+\.csv)`", text)) == set(SHAPES)


@pytest.mark.parametrize("name", SHAPES)
def test_shape(name: str) -> None:
    table = read(name)
    assert (len(table.rows), len(table.columns)) == SHAPES[name]


@pytest.mark.parametrize("name", SHAPES)
def test_comment_keys(name: str) -> None:
    keys = read(name).keys
    assert set(keys) >= REQUIRED_KEYS
    assert set(keys) <= REQUIRED_KEYS | OPTIONAL_KEYS
    assert re.fullmatch(
        r'Small Datum \(Mark Callaghan\), "[^"]+", ' + re.escape(name[:10]), keys["source"]
    )
    assert name.endswith(f"-{keys['kind']}.csv")
    assert ("base" in keys) == (keys["kind"] == "relative")
    assert (keys["unit"] == "ratio") == (keys["kind"] == "relative")
    assert re.match(r"[a-z0-9-]+; .*\d+ cores", keys["machine"])


@pytest.mark.parametrize("name", SHAPES)
def test_targets(name: str) -> None:
    table = read(name)
    targets = table.keys["target"].split(", ")
    assert set(targets) <= TARGETS
    assert name[11:].startswith("-".join(targets) + "-")
    if len(targets) == 1:
        assert "column-targets" not in table.keys
        return
    pairs = [pair.split(" = ") for pair in table.keys["column-targets"].split("; ")]
    assert [column for column, _ in pairs] == table.columns
    assert {target for _, target in pairs} == set(targets)


@pytest.mark.parametrize("name", SHAPES)
def test_rows(name: str) -> None:
    table = read(name)
    assert (table.keys["metric"] == "per row") == ("metric" in table.rows[0])
    for row in table.rows:
        assert row["step"] and row["step"] == row["step"].strip()
        assert row["group"] in GROUPS
    for cell, value in table.cells.items():
        assert re.fullmatch(r"\d+(\.\d+)?", value), cell
        assert math.isfinite(float(value)), cell


@pytest.mark.parametrize("name", [name for name in SHAPES if name.endswith("-relative.csv")])
def test_a_base_column_is_one(name: str) -> None:
    table = read(name)
    for (_, _, column), value in table.cells.items():
        if column == table.keys["base"]:
            assert float(value) == 1.0


def test_relative_values_are_the_rounded_quotient_of_the_absolute_ones() -> None:
    found, pairs, compared = set(), 0, 0
    for name in SHAPES:
        relative = read(name)
        if "absolute" not in relative.keys:
            continue
        pairs += 1
        absolute = read(relative.keys["absolute"])
        assert absolute.columns == relative.columns
        assert [row["step"] for row in absolute.rows] == [row["step"] for row in relative.rows]
        base = relative.keys["base"]
        for (step, metric, column), published in relative.cells.items():
            quotient = Decimal(absolute.cells[step, metric, column]) / Decimal(
                absolute.cells[step, metric, base]
            )
            unit = Decimal(1).scaleb(-len(published.partition(".")[2]))
            compared += 1
            if quotient.quantize(unit, ROUND_HALF_UP) != Decimal(published):
                found.add((name, step, column))
    assert (pairs, compared) == (1, 63)
    assert found == set(QUOTIENT_MISMATCHES)


def test_a_value_published_in_two_absolute_tables_is_the_same() -> None:
    both = read("2026-02-15-postgres-mysql-tproc-c-nopm-absolute.csv")
    cells = {
        **read("2026-02-15-postgres-tproc-c-nopm-absolute.csv").cells,
        **read("2026-02-15-mysql-tproc-c-nopm-absolute.csv").cells,
    }
    assert both.cells == {cell: cells[cell] for cell in both.cells}


@pytest.mark.parametrize(("old", "old_base", "old_value", "new", "new_value"), REBASED)
def test_two_relative_tables_of_one_measurement_agree(
    old: str, old_base: str, old_value: str, new: str, new_value: str
) -> None:
    before, after = read(old), read(new)
    assert [row["step"] for row in before.rows] == [row["step"] for row in after.rows]
    found = {
        (new, step)
        for step in (row["step"] for row in after.rows)
        if not quotients_overlap(
            before.cells[step, "qps", old_value],
            before.cells[step, "qps", old_base],
            after.cells[step, "qps", new_value],
        )
    }
    assert found == {key for key in REBASED_MISMATCHES if key[0] == new}


def test_per_operation_values_are_rates_over_throughput() -> None:
    table = read("2026-06-11-postgres-mysql-sysbench-ax162-s-per-operation-absolute.csv")
    other = dict(zip(table.columns, reversed(table.columns), strict=True))
    compared, crossed = 0, set()
    for (step, metric, column), published in table.cells.items():
        if metric not in PER_OPERATION:
            continue
        rate, factor = PER_OPERATION[metric]
        compared += 1
        value = table.cells[step, rate, column]
        if quotients_overlap(value, table.cells[step, "o/s", column], published, factor):
            continue
        crossed.add((step, metric))
        assert quotients_overlap(
            value, table.cells[step, "o/s", other[column]], published, factor
        ), (step, metric, column)
    assert compared == 3 * len(PER_OPERATION) * 2
    assert crossed == CROSSED


def test_throughput_agrees_with_the_relative_table_of_the_same_post() -> None:
    rates = read("2026-06-11-postgres-mysql-sysbench-ax162-s-per-operation-absolute.csv").cells
    relative = read("2026-06-11-postgres-mysql-sysbench-ax162-s-base-15.17-relative.csv").cells
    for step in ("update-index", "update-zipf", "insert"):
        low_m, high_m = interval(relative[step, "qps", "MySQL 8.4.7"])
        low_p, high_p = interval(relative[step, "qps", "Postgres 19 beta1"])
        ratio = float(rates[step, "o/s", "MySQL 8.4.7"]) / float(rates[step, "o/s", "PG 19b1"])
        assert low_m / high_p <= ratio <= high_m / low_p, step


def test_cpu_shares_add_up() -> None:
    table = read("2026-02-15-postgres-mysql-tproc-c-vmstat-absolute.csv")
    for step in {row["step"] for row in table.rows}:
        for column in table.columns:
            share = {m: float(table.cells[step, m, column]) for m in ("us", "sy", "id", "wa")}
            # Each share is rounded to 0.1, so a sum of n of them is off by at most n * 0.05.
            busy = float(table.cells[step, "us+sy", column])
            assert abs(share["us"] + share["sy"] - busy) <= 3 * 0.05 + 1e-9, (step, column)
            assert abs(sum(share.values()) - 100) <= 4 * 0.05 + 1e-9, (step, column)


@pytest.mark.parametrize("name", [name for name in SHAPES if "-summary-" in name])
def test_summary_statistics_are_in_order(name: str) -> None:
    table = read(name)
    (column,) = table.columns
    for step in {row["step"] for row in table.rows}:
        low, middle, mean, high = (
            float(table.cells[step, metric, column]) for metric in ("min", "median", "avg", "max")
        )
        assert low <= middle <= high and low <= mean <= high, step
