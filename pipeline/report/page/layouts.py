"""The tables of the published layouts, which the page takes as they are."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup
from sqlalchemy import Engine

from pipeline.config import ReportSection
from pipeline.execute.plan import Line
from pipeline.report.layouts import LAYOUTS, by_layout
from pipeline.report.layouts.base import Wish
from pipeline.report.render.html import as_html
from pipeline.report.tables import measured_subjects

_ITS_OWN = "relative"
"""The layout of families that the page has tables of its own for, with links to the charts."""

_FOLDED = ("scale-up", "details", "summary")
"""Layouts that stand beside a family's own, to be unfolded."""


@dataclass(frozen=True, slots=True)
class LayoutView:
    """The tables of one layout, as HTML; ``folded`` where they are not shown at once."""

    name: str
    help: str
    folded: bool
    tables: tuple[Markup, ...]


def view_layouts(store: Engine, line: Line, settings: ReportSection) -> list[LayoutView]:
    """Return the tables of a line: those that its families are published in, then the others.

    What there is for each operation stands beside the charts already.
    """
    wish = Wish(settings)
    own = by_layout(measured_subjects(store, line))
    wanted = [(name, subjects, False) for name, subjects in own.items() if name != _ITS_OWN]
    for name in _FOLDED:
        # The figures of the Insert Benchmark and the statistics of groups are of those alone.
        of = {"details": "insert-benchmark", "summary": _ITS_OWN}.get(name)
        subjects = own.get(of, []) if of else [one for each in own.values() for one in each]
        wanted.append((name, subjects, True))
    views = []
    for name, subjects, folded in wanted:
        # The renderer escapes all text.
        tables = tuple(Markup(as_html(grid)) for grid in LAYOUTS[name].make(subjects, wish))  # noqa: S704
        if tables:
            views.append(LayoutView(name, LAYOUTS[name].help, folded, tables))
    return views
