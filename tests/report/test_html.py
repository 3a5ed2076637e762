from __future__ import annotations

import re
from html.parser import HTMLParser

from pipeline.config import COLOURS
from pipeline.report.grid import Grid, GridRow, TableCell, TableSection
from pipeline.report.relative import Column
from pipeline.report.render.html import as_html, colour_styles


class Fragment(HTMLParser):
    """The rows of a fragment, and whether every element that was opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.classes: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "br":
            return
        self.open.append(tag)
        self.classes += (dict(attrs).get("class") or "").split()
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def grid(names: str = "last", title: str = "") -> Grid:
    return Grid.model_validate(
        {
            "title": "minors <b>",
            "metric": "qps",
            "base": Column(label="a", name="one & only"),
            "columns": (Column(label="b", name="b"), Column(label="c", name="c")),
            "rows_are": "step",
            "sections_are": "group",
            "names": names,
            "legend": (("col-1", "<script>"),),
            "notes": ("! a < b",),
            "sections": (
                TableSection(
                    of="reads",
                    stub="reads",
                    title=title,
                    heads=("col-1", "col-2"),
                    rows=(
                        GridRow(
                            name='"scan"',
                            cells=(
                                TableCell(value=0.5, text="0.50", tone="worse", colour="red"),
                                TableCell(value=None, text="-", signs="!"),
                            ),
                        ),
                    ),
                ),
            ),
        }
    )


def test_a_fragment_is_whole_and_its_text_is_text() -> None:
    text = as_html(grid())
    fragment = Fragment(text)
    assert fragment.open == []
    assert fragment.rows == [["col-1", "col-2", "reads"], ["0.50", "-!", '"scan"']]
    assert "<script>" not in text
    assert "<figcaption>minors &lt;b&gt;: qps (1/s)<br>Relative to: one &amp; only<" in text
    assert '<p class="note">! a &lt; b</p>' in text


def test_names_stand_where_the_grid_says() -> None:
    rows = Fragment(as_html(grid("first", title="update-index"))).rows
    assert rows == [["update-index"], ["reads", "col-1", "col-2"], ['"scan"', "0.50", "-!"]]


def test_every_colour_has_its_look() -> None:
    assert '<td class="worse colour-red">0.50</td>' in as_html(grid())
    assert re.findall(r"^\.grid \.colour-(\w+) ", colour_styles(), re.MULTILINE) == list(COLOURS)
