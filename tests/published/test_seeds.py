"""The published tables as `nightshift table` prints them, against the reports' own text.

``seeds/`` holds the text of each table as it stands in its report, and nothing else. What
`nightshift import csv` takes from results/published/ must come out as that text, cell by cell.
Where our table differs on purpose the difference is named here, table by table; no other is
allowed, and one that is named must be there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.cli.app import app

HERE = Path(__file__).resolve().parent
PUBLISHED = HERE.parents[1] / "results" / "published"
SEEDS = sorted(path.stem for path in (HERE / "seeds").glob("*.txt"))

LISTS = {
    "2024-02-12-postgres-insert-benchmark-ser4-cached-relative",
    "2024-02-12-postgres-insert-benchmark-ser4-io-bound-relative",
    "2024-02-12-postgres-insert-benchmark-ser7-cached-relative",
    "2024-02-12-postgres-insert-benchmark-ser7-io-bound-relative",
}
"""Published as sentences: there is no text of a table to compare with."""

Nightshift = Callable[..., str]


@pytest.fixture(scope="module")
def nightshift(tmp_path_factory: pytest.TempPathFactory) -> Nightshift:
    """The command line, in a folder where every published table was imported."""
    folder = tmp_path_factory.mktemp("published")
    config = folder / "nightshift.toml"
    config.write_text(f'[paths]\nresults = "{folder}/results"\n')

    def run(*args: str) -> str:
        ran = CliRunner().invoke(app, [*args, "--config", str(config)])
        assert ran.exit_code == 0, ran.output
        return ran.stdout

    for path in PUBLISHED.glob("*.csv"):
        run("import", "csv", str(path))
    return run


def seed(name: str) -> str:
    return (HERE / "seeds" / f"{name}.txt").read_text(encoding="utf-8")


def body(text: str) -> list[str]:
    """Return the lines of our first table from its first section on."""
    return text.strip().partition("\n\n")[2].splitlines()


def joined(lines: list[str]) -> list[str]:
    """Return lines without blanks: those of the reports lost the ones between their cells."""
    return [found for line in lines if (found := "".join(line.split()))]


def test_every_published_table_is_compared() -> None:
    assert {*SEEDS} | LISTS == {path.stem for path in PUBLISHED.glob("*.csv")}
    assert not {*SEEDS} & LISTS
    assert {*SEEDS} == {*SUMMARIES, *BY_REVISION, *NOPM, *AVERAGES, *PER_OPERATION, *RELATIVE}


# --- tables whose cells lost what was between them -------------------------------------------

SUMMARIES = [name for name in SEEDS if "-summary-" in name]
BY_REVISION = [name for name in SEEDS if "-insert-benchmark-" in name]
NOPM = [name for name in SEEDS if "-nopm-" in name]


@pytest.mark.parametrize("name", SUMMARIES)
def test_summary_statistics(nightshift: Nightshift, name: str) -> None:
    version, *lines = body(nightshift("table", "--line", name))
    # The report says of which version in the sentence above its table.
    assert version in ("16.2", "8.0.36")
    assert joined(lines) == joined(seed(name).splitlines())


@pytest.mark.parametrize("name", BY_REVISION)
def test_insert_benchmark(nightshift: Nightshift, name: str) -> None:
    assert joined(body(nightshift("table", "--line", name))) == joined(seed(name).splitlines())


@pytest.mark.parametrize("name", NOPM)
def test_nopm(nightshift: Nightshift, name: str) -> None:
    how = ["--layout", "nopm", "--absolute"] if name.endswith("-absolute") else []
    lines = body(nightshift("table", "--line", name, *how))
    assert joined(lines) == joined(seed(name).splitlines())


def test_relative_nopm_follows_from_the_absolute_values(nightshift: Nightshift) -> None:
    both = nightshift("table", "--line", "2026-02-15-postgres-tproc-c-nopm-absolute")
    _, relative = re.split(r"(?m)^Relative to: pg1222$", both)
    wanted = seed("2026-02-15-postgres-tproc-c-nopm-relative")
    assert joined(relative.splitlines()) == joined(wanted.splitlines())


# --- tables with a column for each metric ----------------------------------------------------

AVERAGES = [name for name in SEEDS if name.endswith(("-iostat-absolute", "-vmstat-absolute"))]
PER_OPERATION = [name for name in SEEDS if name.endswith("-per-operation-absolute")]


def cells(lines: list[str]) -> list[list[str]]:
    return [line.split() for line in lines if line.strip()]


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_of_iostat_and_vmstat(nightshift: Nightshift, name: str) -> None:
    assert cells(body(nightshift("table", "--line", name))) == cells(seed(name).splitlines())


@pytest.mark.parametrize("name", PER_OPERATION)
def test_per_operation(nightshift: Nightshift, name: str) -> None:
    ours = nightshift("table", "--line", name, "--layout", "per-operation", "--absolute")
    heading = "iostat, vmstat normalized by operation rate"
    assert ours.startswith(f"{name}: {heading}\n")
    # The report has that heading at each step, we have it once.
    theirs = seed(name)
    assert theirs.count(heading) == 3
    assert cells(body(ours)) == cells(theirs.replace(heading, "").splitlines())


# --- relative tables -------------------------------------------------------------------------

RELATIVE = [
    name
    for name in SEEDS
    if name not in (*SUMMARIES, *BY_REVISION, *NOPM, *AVERAGES, *PER_OPERATION)
]


@dataclass(frozen=True)
class Printed:
    """A table as printed: its base, its columns, and by group the steps with their cells."""

    base: str
    columns: tuple[str, ...]
    groups: tuple[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], ...]


def parse(text: str) -> Printed:
    """Read a table in the published layout; a line that is not of it fails."""
    base = ""
    columns: list[str] = []
    groups: list[tuple[str, list[tuple[str, tuple[str, ...]]]]] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        if line.startswith("Relative to: "):
            base = line.removeprefix("Relative to: ").strip()
        elif found := re.fullmatch(r"col-(\d+) : (.+?)\s*", line):
            columns.append(found[2])
            assert int(found[1]) == len(columns)
        elif line.startswith("col-"):
            heads, group = re.fullmatch(r"((?:col-\d+\s*)+)(.*?)\s*", line).groups()  # type: ignore[union-attr]
            assert heads.split() == [f"col-{n}" for n in range(1, len(columns) + 1)]
            groups.append((group, []))
        else:
            *values, step = line.split()
            assert len(values) == len(columns), line
            groups[-1][1].append((step, tuple(values)))
    return Printed(base, tuple(columns), tuple((name, tuple(rows)) for name, rows in groups))


def with_published_names(ours: Printed, name: str) -> Printed:
    """Names that the CSV shortens are what its legend says."""
    text = (PUBLISHED / f"{name}.csv").read_text(encoding="utf-8")
    found = re.search(r"(?m)^# legend: (.+)$", text)
    assert found is not None
    pairs = (entry.split(" = ") for entry in found[1].split("; "))
    legend = {short.strip(): full.strip() for short, full in pairs}
    return replace(
        ours,
        base=legend.get(ours.base, ours.base),
        columns=tuple(legend.get(column, column) for column in ours.columns),
    )


def with_exchanged_headings(ours: Printed, name: str) -> Printed:
    """The headings of the two groups of range queries are exchanged in the report."""
    points, without, aggregating, writes = ours.groups
    exchanged = ((aggregating[0], without[1]), (without[0], aggregating[1]))
    return replace(ours, groups=(points, *exchanged, writes))


def without_headings(ours: Printed, name: str) -> Printed:
    """The report has no groups."""
    assert all(group for group, _ in ours.groups)
    return replace(ours, groups=(("", tuple(row for _, rows in ours.groups for row in rows)),))


def with_scans_after_aggregations(ours: Printed, name: str) -> Printed:
    """Without groups, the report has the two scans behind the queries with aggregation."""
    ((group, rows),) = ours.groups
    scans = tuple(row for row in rows if row[0].startswith("scan"))
    assert len(scans) == 2
    others = [row for row in rows if row not in scans]
    last = max(at for at, (step, _) in enumerate(others) if step.startswith("read-only"))
    return replace(ours, groups=((group, (*others[: last + 1], *scans, *others[last + 1 :])),))


Deviation = Callable[[Printed, str], Printed]

DEVIATIONS: dict[str, tuple[Deviation, ...]] = {
    "2025-09-02-postgres-sysbench-ax162-s-base-17.4-relative": (
        without_headings,
        with_scans_after_aggregations,
    ),
    "2025-09-11-postgres-sysbench-7865-base-17.6-relative": (with_published_names,),
    "2025-09-11-postgres-sysbench-ax162-s-base-17.6-relative": (with_published_names,),
    "2025-09-11-postgres-sysbench-pn53-base-17.6-relative": (with_published_names,),
    "2025-09-26-postgres-sysbench-pn53-base-12.22-relative": (
        with_published_names,
        with_exchanged_headings,
    ),
    "2025-09-26-postgres-sysbench-pn53-base-17.6-relative": (with_published_names,),
    "2025-09-29-postgres-sysbench-7049a-t-base-12.22-relative": (with_published_names,),
    "2025-09-29-postgres-sysbench-7049a-t-base-17.6-relative": (with_published_names,),
    "2026-02-16-mariadb-sysbench-pn53-base-z12b-relative": (without_headings,),
    "2026-02-16-mariadb-sysbench-pn53-base-z12b_sync-relative": (without_headings,),
    "2026-06-11-postgres-mysql-sysbench-ax162-s-base-15.17-relative": (without_headings,),
}
"""How our table is turned into the published one, where it differs on purpose."""


@pytest.mark.parametrize("name", RELATIVE)
def test_relative(nightshift: Nightshift, name: str) -> None:
    heading, _, table = nightshift("table", "--line", name).partition("\n")
    assert heading == f"{name}: qps (1/s)"
    ours, theirs = parse(table), parse(seed(name))
    for deviation in DEVIATIONS.get(name, ()):
        turned = deviation(ours, name)
        assert turned != ours, f"{deviation.__name__} is no difference of this table"
        ours = turned
    assert ours == theirs


def test_a_wrong_cell_would_be_seen(nightshift: Nightshift) -> None:
    name = "2026-06-11-postgres-mysql-sysbench-ax162-s-base-15.17-relative"
    theirs = parse(seed(name))
    wrong = parse(seed(name).replace("0.94    0.90    0.88", "0.94    0.91    0.88"))
    assert wrong != theirs
    assert sum(len(values) for _, rows in theirs.groups for _, values in rows) == 50
