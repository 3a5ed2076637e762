from __future__ import annotations

import re
from pathlib import Path

from pipeline.model.metrics import METRICS
from pipeline.publish.names import COMPARED, FIGURES, OTHERS, SERIES_LABELS

UNITS = ("_seconds", "_bytes", "_ratio", "_per_second", "_per_operation", "_per_insert")
COUNTS = ("errors", "write_stalls")
OWN_UNITS = ("score", "cost")
"""Imported values, each in the unit of its step."""


def test_every_metric_of_the_store_has_a_name() -> None:
    assert set(FIGURES) == set(METRICS)
    assert set(COMPARED) <= set(FIGURES)


def test_names_are_of_base_units() -> None:
    for figure in FIGURES.values():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", figure.name)
        assert figure.name.endswith(UNITS) or figure.name in (*COUNTS, *OWN_UNITS)
        assert not re.search(r"_(us|ms|kb|mb|gb|percent|minutes?)(_|$)", figure.name)


def test_no_two_metrics_share_a_series() -> None:
    series = [(figure.name, tuple(sorted(figure.labels.items()))) for figure in FIGURES.values()]
    assert len(set(series)) == len(series)
    for name in {figure.name for figure in FIGURES.values()}:
        labels = {tuple(sorted(each.labels)) for each in FIGURES.values() if each.name == name}
        assert len(labels) == 1, name
    assert not {label for each in FIGURES.values() for label in each.labels} & set(SERIES_LABELS)


def test_other_metrics_do_not_end_as_figures_do() -> None:
    figures = {f"{view}_{each.name}" for view in ("run", "revision") for each in FIGURES.values()}
    assert not figures & set(OTHERS)


def test_the_documentation_lists_every_name() -> None:
    page = Path(__file__).parents[2] / "docs/reference/metrics.md"
    text = page.read_text().partition("## In Prom")[2]
    for metric, figure in FIGURES.items():
        labels = ", ".join(f'`{name}="{value}"`' for name, value in figure.labels.items())
        assert f"| `{metric}` | `{figure.name}` | {labels} |" in text
    for other in OTHERS.values():
        row = re.search(rf"(?m)^\| `{other.name}` \| (.*?) \| (.*) \|$", text)
        assert row is not None, other.name
        reported = set(re.findall(r"`(\w+)`", row[1]))
        reported |= set(SERIES_LABELS) if "those of a series" in row[1] else set()
        assert (reported, row[2]) == (set(other.labels), other.help)
