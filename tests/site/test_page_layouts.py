"""The published layouts in the page, and steps of families that are not sysbench's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.model import Step
from pipeline.regressions.detected import Detected

from .page_store import make_store, over_time
from .pages import report_page
from .test_page import NOW, Elements, document

STEPS = (
    Step(name="l.i0", group="load", unit="rows"),
    Step(name="qr100", group="", unit="queries"),
    Step(name="qp100", group="point queries", unit="queries"),
)


def page_of(folder: Path, **options: Any) -> str:
    store, plan = make_store(folder, {"line": ("17.5", "17.6")}, repetitions=1, **options)
    if options.get("family") == "insert_benchmark":
        over_time(store, "qr100", "17.6", 1, status="sla failed", note="50 of 100 inserts/s")
    nothing = Detected(plan="", series=0, regressions=())
    path = report_page(folder / "r.html", store, plan, nothing, NOW)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("night")
    return page_of(folder, steps=STEPS, family="insert_benchmark")


def test_a_family_has_the_tables_that_it_is_published_in(page: str) -> None:
    elements = Elements(page)
    (heads, *_) = [row for row in elements.rows if row[1:3] == ["l.i0", "qr100"]]
    figures = [attrs for tag, attrs in elements.found if tag == "figure"]
    assert heads and figures == [{"class": "grid"}] * len(figures)
    assert page.index('<figure class="grid">') < page.index('class="step"')
    assert "SLA failed, 50 of 100 inserts/s" in page


def test_steps_of_any_group_and_unit_have_a_chart_in_the_order_of_the_run(page: str) -> None:
    charts = document(page)["charts"]
    assert isinstance(charts, list)
    assert [(chart["step"], chart["unit"]) for chart in charts] == [
        ("l.i0", "rows"),
        ("qr100", "queries"),
        ("qp100", "queries"),
    ]


def test_what_has_several_numbers_of_clients_has_a_scale_up(tmp_path: Path) -> None:
    page = page_of(tmp_path, clients=(1, 4))
    whole: Any = document(page)
    (scale_up,) = whole["scaleups"]
    assert scale_up["clients"] == [1, 4]
    for values in scale_up["values"].values():
        assert set(values) == {"0", "1"}
        assert all(one[0] == 1 and one[1] == pytest.approx(1, abs=0.1) for one in values.values())
    elements = Elements(page)
    assert [row for row in elements.rows if row == ["1", "4", "clients"]]


def test_one_number_of_clients_is_no_scale_up(page: str) -> None:
    assert document(page)["scaleups"] == []
