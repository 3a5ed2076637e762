"""Published tables, taken in as if measured: what the repository holds, and what is refused."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine

from pipeline.report.tables import MeasuredSubject, measured_subjects
from pipeline.storage.bundle import list_bundles, read_bundle
from pipeline.storage.database import empty_store
from pipeline.storage.imported_lines import imported_lines
from pipeline.storage.ingest import ingest
from pipeline.storage.measurements import rows
from pipeline.storage.published import import_published, read_published
from pipeline.storage.runs import runs
from pipeline.storage.steps import outcomes
from pipeline.text.errors import UserError

from .dumps import by_names, with_ids

PUBLISHED = Path(__file__).parents[2] / "results" / "published"
ABSOLUTE = sorted(PUBLISHED.glob("*-absolute.csv"))
RELATIVE = sorted(PUBLISHED.glob("*-relative.csv"))
NOPM = PUBLISHED / "2026-02-15-postgres-tproc-c-nopm-absolute.csv"


def take(
    path: Path,
    bundles: Path,
    *,
    line: str = "line",
    target: str = "",
    machine: str = "",
    metric: str = "",
) -> list[Path]:
    return import_published(
        read_published(path, metric),
        line=line,
        target=target,
        machine_class=machine,
        bundles=bundles,
        at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def subject_of(store: Engine) -> MeasuredSubject:
    """Return the only imported line, as tables show it."""
    (line,) = imported_lines(store)
    (subject,) = measured_subjects(store, line)
    return subject


def cells_of(text: str) -> list[dict[str, str]]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def test_there_are_tables_to_test_with() -> None:
    assert len(ABSOLUTE) == 6
    assert len(RELATIVE) == 26


@pytest.mark.parametrize("path", ABSOLUTE, ids=lambda path: path.stem)
def test_every_absolute_table_comes_out_as_it_went_in(
    store: Engine, tmp_path: Path, path: Path
) -> None:
    published = cells_of(path.read_text())
    versions = [name for name in published[0] if name not in ("step", "group", "metric")]
    report = ingest(store, take(path, tmp_path, line="x"))
    assert (report.taken, report.refused) == (len(versions), [])
    assert [line.name for line in imported_lines(store)] == ["x"]
    wanted = {
        (row["step"], row["group"], row.get("metric", "nopm"), version): float(row[version])
        for row in published
        for version in versions
    }
    found = {(row.step, row.group, row.metric, row.revision): row.value for row in rows(store)}
    assert found == wanted
    # In the published order, of versions and of steps.
    for metric in dict.fromkeys(row.get("metric", "nopm") for row in published):
        table = subject_of(store).table(metric)
        assert [column.name for column in table.columns] == versions
        assert [row.step for group in table.groups for row in group.rows] == [
            row["step"] for row in published if row.get("metric", "nopm") == metric
        ]


@pytest.mark.parametrize("path", RELATIVE, ids=lambda path: path.stem)
def test_relative_tables_are_kept_with_their_base(
    store: Engine, tmp_path: Path, path: Path
) -> None:
    ingest(store, take(path, tmp_path))
    published = cells_of(path.read_text())
    versions = [name for name in published[0] if name not in ("step", "group", "metric")]
    found = {(row.step, row.metric, row.revision): row.value for row in rows(store)}
    assert found == {
        (row["step"], row.get("metric", "nopm" if "nopm" in path.name else "qps"), version): float(
            row[version]
        )
        for row in published
        for version in versions
    }
    base = re.search(r"(?m)^# base: (.+)$", path.read_text())
    assert base is not None
    subject = subject_of(store)
    assert subject.base is not None
    assert subject.base.name == base[1]
    assert [column.name for column in subject.columns] == versions


def test_a_relative_table_must_name_its_base(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "# kind: relative\nstep,1\na,1.0\n")
    with pytest.raises(UserError, match=("does not name their base; add a line `# base: VERSION`")):
        read_published(path)


def test_tabs_may_stand_for_commas(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", '# title: a, b\nstep\tgroup\t1\t2\n"a, b"\tg\t1\t2.5\n')
    table = read_published(path)
    assert table.versions == ("1", "2")
    assert table.values == {"1": {"a, b": {"qps": 1.0}}, "2": {"a, b": {"qps": 2.5}}}


def test_all_of_them_at_once(store: Engine, tmp_path: Path) -> None:
    for path in ABSOLUTE:
        take(path, tmp_path, line=path.stem)
    assert ingest(store, list_bundles(tmp_path)).taken == 20
    assert [line.name for line in imported_lines(store)] == [path.stem for path in ABSOLUTE]
    before = with_ids(store)
    empty_store(store)
    ingest(store, list_bundles(tmp_path))
    assert with_ids(store) == before


def test_what_the_heading_says_is_kept(tmp_path: Path) -> None:
    path = take(PUBLISHED / "2026-02-15-postgres-mysql-tproc-c-nopm-absolute.csv", tmp_path)[0]
    manifest = read_bundle(path).manifest
    assert manifest.line == "line"
    assert manifest.machine.machine_class == "ax162-s"
    assert manifest.workload.name == "tproc-c"
    assert (manifest.started_at.year, manifest.started_at.month, manifest.started_at.day) == (
        *(2026, 2),
        15,
    )
    assert "HammerDB tproc-c" in manifest.build.provenance.locator


def test_each_column_has_its_own_target(store: Engine, tmp_path: Path) -> None:
    ingest(store, take(PUBLISHED / "2026-02-15-postgres-mysql-tproc-c-nopm-absolute.csv", tmp_path))
    assert {run.revision: run.target for run in runs(store)} == {
        "pg181": "postgres",
        "my8408": "mysql",
    }


def test_importing_again_changes_nothing(store: Engine, tmp_path: Path) -> None:
    assert len(take(NOPM, tmp_path)) == 7
    ingest(store, list_bundles(tmp_path))
    files = {path: path.read_bytes() for path in list_bundles(tmp_path)}
    before = by_names(store)
    assert take(NOPM, tmp_path) == []
    assert {path: path.read_bytes() for path in list_bundles(tmp_path)} == files
    assert ingest(store, list_bundles(tmp_path)).taken == 0
    assert by_names(store) == before


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_line_keeps_its_values(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", "step,1,2\na,10,20\n")
    take(table, tmp_path / "bundles", target="postgres")
    # The second column is another now, and a third one is new: nothing of it is taken.
    write(table, "step,0,1,2\na,5,10,21\n")
    with pytest.raises(UserError, match="with other values for 2; choose another name") as error:
        take(table, tmp_path / "bundles", target="postgres")
    assert "\n" not in str(error.value)
    assert len(list(list_bundles(tmp_path / "bundles"))) == 2
    assert len(take(table, tmp_path / "bundles", target="postgres", line="other")) == 3


def test_a_table_without_a_heading(store: Engine, tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", 'step,17.1,17.2\n"a, b",10,"1,250.5"\nc,,3\n')
    paths = take(
        table, tmp_path, target="postgres", machine="mine", metric="cpu_us/o", line="by hand"
    )
    ingest(store, paths)
    found = {(row.revision, row.step): row for row in rows(store)}
    assert {place: row.value for place, row in found.items()} == {
        ("17.1", "a, b"): 10.0,
        ("17.2", "a, b"): 1250.5,
        ("17.2", "c"): 3.0,
    }
    row = found["17.1", "a, b"]
    assert (row.target, row.machine_class, row.metric, row.line) == (
        *("postgres", "mine", "cpu_us/o"),
        "by hand",
    )
    # An empty cell is no zero: nothing was published there.
    failed = [step for step in outcomes(store) if step.status == "failed"]
    revisions = {run.run_id: run.revision for run in runs(store)}
    assert [(revisions[step.run_id], step.step, step.note) for step in failed] == [
        ("17.1", "c", "no value was published")
    ]


def test_a_table_as_spreadsheets_write_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfstep,1,2\r\na,10,20\r\n\r\n")
    table = read_published(path)
    assert table.versions == ("1", "2")
    assert table.values == {"1": {"a": {"qps": 10.0}}, "2": {"a": {"qps": 20.0}}}


def test_a_step_of_two_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", '# metric: qps\nstep,1\n"a\nb",10\nc,x\n')
    with pytest.raises(UserError, match=r"t\.csv:5: 'x' is not a number"):
        read_published(path)


def test_metrics_are_known_by_any_case(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "step,metric,1\na,NOPM,1\na,Cpu/O,2\na,mine,3\n")
    assert read_published(path).values["1"]["a"] == {"nopm": 1.0, "cpu/o": 2.0, "mine": 3.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "t.csv is empty"),
        ("# target: postgres\n\n", "t.csv is empty"),
        ("step,1,2\n", "t.csv:1: the first row is the only one"),
        ("# x: y\n\nname,1\na,2\n", "t.csv:3: the first row must be step"),
        ("step;1;2\na;1;2\n", "t.csv:1: the first row must be step"),
        ("step,1,group\na,1,g\n", "t.csv:2: 'g' is not a number"),
        ("step\na\n", "t.csv:1: a version is missing or appears twice"),
        ("step,group\na,g\n", "t.csv:1: a version is missing or appears twice"),
        (
            "step,1,1\na,2,3\n",
            "t.csv:1: a version is missing or appears twice; correct the first row",
        ),
        ("step,1,\na,2,3\n", "t.csv:1: a version is missing or appears twice"),
        ("# a: b\nstep,1,2\na,2,3\n# c: d\nb,2\n", "t.csv:5: 2 cells where the first row has 3"),
        ("step,1\na,2\nb,2,3\n", "t.csv:3: 3 cells where the first row has 2"),
        ("step,1\n\na,fast\n", "t.csv:3: 'fast' is not a number"),
        ("step,1\na,nan\n", "t.csv:2: 'nan' is not a number"),
        ("step,1\na,inf\n", "t.csv:2: 'inf' is not a number"),
        ("step,1\na,1\nb,1\na,2\n", "t.csv:4: step 'a' appears twice; remove one"),
        ("step,metric,1\na,qps,1\na,QPS,2\n", "t.csv:3: step 'a' appears twice; remove one"),
        ("step,1\n,1\n", "t.csv:2: the step has no name"),
        ('step,1\n"a,1\nb,2\n', "t.csv:2: not valid CSV"),
        ('step,1\n"a"b,1\n', "t.csv:2: not valid CSV"),
    ],
)
def test_what_does_not_fit_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path / "t.csv", text)
    with pytest.raises(UserError) as error:
        read_published(path)
    assert "\n" not in str(error.value)
    assert said in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes(b"step,1\n\xe9,1\n")
    for name in ("missing.csv", "latin.csv", "."):
        with pytest.raises(UserError, match="cannot be read") as error:
            read_published(tmp_path / name)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("heading", "said"),
    [
        ("", "give --target"),
        ("# column-targets: 1 = postgres\n", "does not name the DBMS of 2"),
    ],
)
def test_the_dbms_has_to_be_known(tmp_path: Path, heading: str, said: str) -> None:
    path = write(tmp_path / "t.csv", f"{heading}step,1,2\na,1,2\n")
    with pytest.raises(UserError, match=said):
        take(path, tmp_path / "bundles")
    assert not (tmp_path / "bundles").exists()


def test_names_that_are_no_file_names(store: Engine, tmp_path: Path) -> None:
    """Lines and versions go into run ids, and those into file names."""
    text = io.StringIO()
    csv.writer(text).writerows([["step", "../a", "a/b c", "a_b_c"], ["s", "1", "2", "3"]])
    path = write(tmp_path / "t.csv", text.getvalue())
    bundles = tmp_path / "bundles"
    for line in ("../../up", "..-..-up"):
        paths = take(path, bundles, target="postgres", line=line)
        assert {each.parent for each in paths} == {bundles}
        assert len(paths) == 3
    assert ingest(store, list_bundles(bundles)).taken == 6
    assert [line.name for line in imported_lines(store)] == sorted(["../../up", "..-..-up"])
