"""Make a page of the site from its template, styles, scripts and data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pipeline.site.content_security import embedded, policy

MARK = '<meta name="generator" content="nightshift site">'
"""Marker of pages written by nightshift, so that no other file is overwritten."""

NIGHT = "night.html"
"""File name of the report of the last night, in the folder of the site's first page."""

TABLES = "tables.html"
"""File name of the tables of chosen columns, in the folder of the site's first page."""

STATUS = "status.html"
"""File name of the series against their accepted levels, in the folder of the first page."""

SQL = "sql.html"
"""File name of the page for queries, in the folder of the site's first page."""

_PACKAGE = "pipeline.site"
_SHARED = ("elements", "chart", "revisions", "colours")


class View(NamedTuple):
    """A link at the top of every page to a part of the site."""

    title: str
    address: str
    name: str = ""
    here: bool = False


_VIEWS = {
    "overview": "Overview",
    "trend": "Trend",
    "step": "Step",
    "compare": "Compare",
    "insert": "Insert Benchmark",
    "machines": "Machines and controls",
}


def views_of(
    page: str, sla: bool, tables: bool, status: bool = False, sql: bool = True
) -> list[View]:
    """Return the links at the top of a page.

    The SLA view is among them if a workload has an SLA, the pages of tables, of the status and for
    SQL if there are ``tables``, a ``status`` and ``sql``.
    """
    first = "index.html"
    views = [
        View(title, f"{'' if page == first else first}#{name}", name if page == first else "")
        for name, title in _VIEWS.items()
        if sla or name != "insert"
    ]
    last, *others = (
        View(title, "#main" if page == file else file, here=page == file)
        for title, file in (
            *((("SQL", SQL),) if sql else ()),
            ("Last night", NIGHT),
            *((("Status", STATUS),) if status else ()),
            *((("Tables", TABLES),) if tables else ()),
        )
    )
    return [views[0], *others, *views[1:], last]


def render(
    template: str,
    scripts: Sequence[str],
    document: Mapping[str, Any],
    *,
    views: Sequence[View] = (),
    styles: str = "",
    loads: bool = False,
    engine: bool = False,
    **facts: Any,
) -> str:
    """Render a template as a whole page; all values are escaped.

    ``scripts`` are the names of scripts besides those of all pages, ``document`` is the data that
    they read. With ``loads`` they may load other scripts, which are files in the same folder as the
    page. With ``engine`` they may start the SQL engine.
    """
    library = _text("vendor/uplot/uPlot.iife.min.js")
    own = "\n".join(_text(f"scripts/{name}.js") for name in (*_SHARED, *scripts))
    # One function, so that no name conflicts with the chart library.
    program = f'"use strict";\n(() => {{\n{own}\n}})();'
    return render_part(
        template,
        mark=MARK,
        views=views,
        style=_text("site.css") + _text("vendor/uplot/uPlot.min.css") + styles,
        document=embedded(document),
        library=library,
        script=program,
        policy=policy([library, program], loads, engine),
        **facts,
    )


def render_part(template: str, **facts: Any) -> Markup:
    """Render a template as a part of a page."""
    return Markup(_environment().get_template(template).render(facts))  # noqa: S704 # Escaped there.


@cache
def _environment() -> Environment:
    """Return the templates; each is compiled once."""
    return Environment(
        loader=PackageLoader(_PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _text(name: str) -> str:
    return (files(_PACKAGE) / name).read_text(encoding="utf-8")
