"""A dashboard: the layout of its panels, common settings, its JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as model

from dashboards import links
from dashboards.variables import SOURCE, source

WIDTH = 24
"""Columns of Grafana's grid."""


class Row(NamedTuple):
    """Panels side by side, with their widths in columns; a title begins a section."""

    height: int
    panels: Sequence[tuple[int, Builder[model.Panel]]]
    title: str = ""


class BoardEvent(NamedTuple):
    """Events drawn over the panels ``on`` (their titles); the labels of a series describe them.

    ``title`` and ``text`` are templates of labels, for example ``{{step}}``.
    """

    name: str
    expression: str
    title: str
    text: str
    color: str
    on: Sequence[str]
    shown: bool = True


class _Annotation(model.AnnotationQuery):
    """An annotation with the texts of an event; the SDK has no fields for them."""

    def __init__(self, event: BoardEvent, ids: list[int]) -> None:
        super().__init__(
            name=event.name,
            datasource=SOURCE,
            enable=event.shown,
            icon_color=event.color,
            expr=event.expression,
            filter_val=model.AnnotationPanelFilter(ids=ids),
        )
        self._texts = {"titleFormat": event.title, "textFormat": event.text}

    def to_json(self) -> dict[str, object]:
        """Return the JSON that Grafana's Prometheus data source reads."""
        return {**super().to_json(), **self._texts, "tagKeys": "kind,metric"}


def assemble(
    uid: str,
    title: str,
    description: str,
    *,
    since: str,
    variables: Sequence[Builder[model.VariableModel]],
    rows: Sequence[Row],
    events: Sequence[BoardEvent] = (),
) -> model.Dashboard:
    """Return a dashboard. ``since`` is the initial start of the time range, as ``now-90d``.

    Panels are numbered from 1 in reading order.
    """
    builder = (
        Dashboard(f"nightshift: {title}")
        .uid(uid)
        .description(description)
        .tags([links.TAG])
        .timezone("browser")
        .time(since, "now")
        .refresh("5m")
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
        .links(list(links.to_others()))
        .variables([source(), *variables])
        .readonly()
    )
    built = builder.build()
    panels = built.panels = _placed(rows)
    numbers = {panel.title: panel.id_val for panel in panels if isinstance(panel, model.Panel)}
    built.annotations = model.AnnotationContainer(
        list_val=[
            _Annotation(event, [number for title in event.on if (number := numbers[title])])
            for event in events
        ]
    )
    return built


def _placed(rows: Sequence[Row]) -> list[model.Panel | model.RowPanel]:
    placed: list[model.Panel | model.RowPanel] = []
    number, top = 1, 0
    for row in rows:
        if row.title:
            section = model.RowPanel(
                title=row.title,
                id_val=1000 + top,
                grid_pos=model.GridPos(h=1, w=WIDTH, x=0, y=top),
                panels=[],
            )
            placed.append(section)
            top += 1
        left = 0
        for width, builder in row.panels:
            panel = builder.build()
            panel.id_val = number
            panel.grid_pos = model.GridPos(h=row.height, w=width, x=left, y=top)
            placed.append(panel)
            left += width
            number += 1
        top += row.height
    return placed


def as_json(board: model.Dashboard) -> str:
    """Return the committed text of a dashboard, with fixed key order and indentation."""
    return json.dumps(board, cls=JSONEncoder, indent=2, sort_keys=True) + "\n"
