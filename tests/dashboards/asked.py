"""What the queries of a dashboard find on a server."""

from __future__ import annotations

from typing import Any

from tests.dashboards.grafana import (
    Board,
    Choice,
    Query,
    Range,
    ask,
    choices,
    options,
    queries,
    range_of,
    variables,
)
from tests.prometheus import Prometheus


def unanswered(server: Prometheus, name: str, board: Board) -> list[Query]:
    """Return the queries that find nothing, whatever is chosen at the top of the dashboard.

    A query that is of several lines is answered when it finds something for one of them; a
    dashboard of which nothing can be chosen has no answered queries.
    """
    left = queries(name, board)
    span = range_of(board)
    for chosen in choices(server, board):
        left = [query for query in left if not ask(server, query, span, chosen)]
        if not left:
            break
    return left


def unoffered(server: Prometheus, board: Board) -> list[str]:
    """Return the variables that never offer anything."""
    left = {name: each for name, each in variables(board).items() if each["type"] == "query"}
    for chosen in choices(server, board):
        for name, variable in list(left.items()):
            if options(server, variable, range_of(board), chosen):
                del left[name]
    return list(left)


def fields_of(server: Prometheus, panel: dict[str, Any], span: Range, chosen: Choice) -> set[str]:
    """Return the fields that Grafana makes of the answers to a table's queries."""
    several = len(panel["targets"]) > 1
    fields = {"Time"}
    for target in panel["targets"]:
        query = Query("", panel["title"], target["expr"], target["instant"])
        for labels in ask(server, query, span, chosen):
            fields |= set(labels)
        fields.add(f"Value #{target['refId']}" if several else "Value")
    return fields
