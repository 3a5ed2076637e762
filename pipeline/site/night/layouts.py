"""The tables of the published layouts in a night's report, as HTML."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup
from sqlalchemy import Engine

from pipeline.config import ReportSection
from pipeline.measure.plan import Line
from pipeline.report.layouts import LAYOUTS, by_layout
from pipeline.report.layouts.base import TableOptions
from pipeline.report.render.html import as_html
from pipeline.report.tables import measured_subjects

_ITS_OWN = "relative"
"""The layout for which the page has its own tables, with links to the charts."""

_FOLDED = ("scale-up", "details", "summary")
"""Layouts that are shown folded, in addition to the usual layout."""


@dataclass(frozen=True, slots=True)
class LayoutView:
    """The tables of one layout as HTML; ``folded`` if they are hidden at first."""

    name: str
    help: str
    folded: bool
    tables: tuple[Markup, ...]


def view_layouts(store: Engine, line: Line, settings: ReportSection) -> list[LayoutView]:
    """Return the tables of a line, those of its usual layouts first.

    Values per operation are left out: they are already next to the charts.
    """
    options = TableOptions(settings)
    own = by_layout(measured_subjects(store, line))
    wanted = [(name, subjects, False) for name, subjects in own.items() if name != _ITS_OWN]
    for name in _FOLDED:
        # The figures of the Insert Benchmark and the statistics of groups exist only for those.
        of = {"details": "insert-benchmark", "summary": _ITS_OWN}.get(name)
        subjects = own.get(of, []) if of else [one for each in own.values() for one in each]
        wanted.append((name, subjects, True))
    views = []
    for name, subjects, folded in wanted:
        # The renderer escapes all text.
        tables = tuple(Markup(as_html(grid)) for grid in LAYOUTS[name].make(subjects, options))  # noqa: S704
        if tables:
            views.append(LayoutView(name, LAYOUTS[name].help, folded, tables))
    return views
