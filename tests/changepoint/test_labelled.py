"""Real series with labels: how they are read from clones, and how changes are scored."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from changepoint.evaluate import labelled
from changepoint.evaluate.labelled import LabelledSeries, MissingRepositoryError, Score, score
from changepoint.series import Floats

LABELS = json.loads(Path(labelled.__file__).with_name("labels.json").read_text())


def series(length: int, changes: tuple[int, ...], *perhaps: tuple[int, int]) -> LabelledSeries:
    return LabelledSeries("first", "a series", np.zeros(length), changes, perhaps)


@pytest.mark.parametrize(
    ("length", "found", "expected"),
    [
        (100, [30, 70], Score(2, 0, 0)),
        (100, [35, 64], Score(1, 1, 1)),
        # One change serves one label, and the other is wrong.
        (100, [29, 31], Score(1, 1, 1)),
        (100, [50, 55, 60], Score(0, 2, 0)),
        (100, [44], Score(0, 2, 1)),
        (40, [32, 73], Score(1, 1, 1)),
        (12, [], Score(0, 2, 0)),
    ],
)
def test_each_label_takes_the_nearest_change(
    length: int, found: list[int], expected: Score
) -> None:
    assert score(found, series(length, (30, 70), (50, 55))) == expected


def test_scores_add_up() -> None:
    total = Score(3, 1, 0) + Score(1, 0, 2)
    assert total == Score(4, 1, 2)
    assert total.f1 == pytest.approx(8 / 11)
    assert Score().f1 == 0.0


def test_labels_are_inside_their_series_and_of_two_groups() -> None:
    assert len([label for label in LABELS if label["group"] == "first"]) >= 60
    assert len({(label["repository"], label["file"], label["name"]) for label in LABELS}) == len(
        LABELS
    )
    for label in LABELS:
        assert label["changes"] == sorted(label["changes"])
        assert all(first <= last for first, last in label["perhaps"])


def test_a_published_file_is_read_in_all_its_versions(tmp_path: Path) -> None:
    clone = repository(tmp_path)
    versions = [[(1, 10.0), (2, 11.0)], [(2, 11.0), (3, 0)], [(3, 0), (4, 13.0)]]
    for entries in versions:
        commit(clone, "data.js", "window.BENCHMARK_DATA = " + json.dumps(data(entries)))
    assert read(clone, "data.js", every=0) == {"Suite:scan": [13.0]}
    assert read(clone, "data.js", every=1) == {"Suite:scan": [10.0, 11.0, 13.0]}


def test_rows_of_a_table_and_metrics_of_runs_are_read(tmp_path: Path) -> None:
    clone = repository(tmp_path)
    commit(clone, "qps.csv", "step,v1,v2\nscan,1.5,2\npoint,3,4\n")
    assert read(clone, "qps.csv", every=0) == {"scan": [1.5, 2.0], "point": [3.0, 4.0]}
    runs = [
        {"timestamp": at, "metrics": [{"name": "load", "value": value}]}
        for at, value in ((2, 20.0), (1, 10.0))
    ]
    commit(clone, "runs.json", json.dumps(runs))
    assert read(clone, "runs.json", every=0) == {"load": [10.0, 20.0]}


def test_other_values_than_those_labelled_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingRepositoryError, match="clone the repository there"):
        next(labelled.collection(tmp_path))


def read(clone: Path, file: str, every: int) -> dict[str, list[float]]:
    found = labelled._read(clone, "HEAD", file, every)
    return {name: list_of(values) for name, values in found.items()}


def list_of(values: Floats) -> list[float]:
    return [float(value) for value in values]


def data(entries: list[tuple[int, float]]) -> object:
    return {
        "entries": {
            "Suite": [
                {"date": at, "commit": {"id": f"c{at}"}, "benches": [bench(value)]}
                for at, value in entries
            ]
        }
    }


def bench(value: float) -> dict[str, object]:
    return {"name": "scan", "value": value}


def repository(folder: Path) -> Path:
    clone = folder / "clone"
    subprocess.run(["git", "init", "-q", str(clone)], check=True)
    return clone


def commit(clone: Path, name: str, text: str) -> None:
    (clone / name).write_text(text)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(clone), "add", name], check=True)
    subprocess.run(["git", "-C", str(clone), *who, "commit", "-qm", "new"], check=True)
