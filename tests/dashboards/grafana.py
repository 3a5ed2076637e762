"""What Grafana does with a dashboard: fills in variables and asks Prometheus.

After pkg/promlib and @grafana/data of Grafana 11.6: intervals are rounded, axes begin and end at
whole intervals, ``All`` is the variable's own value for it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.prometheus import Prometheus

JSON = Path(__file__).parents[2] / "dashboards" / "json"

Board = dict[str, Any]
Choice = dict[str, str]

_POINTS = 1000
_UNITS = {"h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}
# Below how many seconds an interval is rounded to which; from a minute on.
_ROUNDED = (
    (90, 60, "1m"),
    (210, 120, "2m"),
    (450, 300, "5m"),
    (750, 600, "10m"),
    (1050, 900, "15m"),
    (1500, 1200, "20m"),
    (2700, 1800, "30m"),
    (5400, 3600, "1h"),
    (9000, 7200, "2h"),
    (16200, 10800, "3h"),
    (32400, 21600, "6h"),
    (64800, 43200, "12h"),
    (604800, 86400, "1d"),
    (1814400, 604800, "7d"),
)
_VARIABLE = re.compile(r"\$(\w+)|\$\{(\w+)(?::\w+)?\}")


@dataclass(frozen=True)
class Query:
    """An expression of a dashboard, and what it is for."""

    board: str
    where: str
    expression: str
    instant: bool


@dataclass(frozen=True)
class Range:
    """The time range of a dashboard, as its axis has it."""

    start: float
    end: float

    @property
    def step(self) -> tuple[int, str]:
        """The interval between points, in seconds and as text."""
        wanted = (self.end - self.start) / _POINTS
        return next((seconds, text) for below, seconds, text in _ROUNDED if wanted < below)


def boards() -> dict[str, Board]:
    """Return the committed dashboards by the name of their file."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(JSON.glob("*.json"))}


def panels(board: Board) -> list[dict[str, Any]]:
    """Return the panels of a dashboard without the headings of its rows."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def queries(name: str, board: Board) -> list[Query]:
    """Return every expression of panels and annotations."""
    found = [
        Query(name, panel["title"], target["expr"], target["instant"])
        for panel in panels(board)
        for target in panel["targets"]
    ]
    events = board["annotations"]["list"]
    return [*found, *(Query(name, event["name"], event["expr"], False) for event in events)]


def range_of(board: Board) -> Range:
    """Return the time range that a dashboard shows at first."""
    match = re.fullmatch(r"now-(\d+)([hdwy])", board["time"]["from"])
    assert match
    assert board["time"]["to"] == "now"
    now = time.time()
    return Range(now - int(match[1]) * _UNITS[match[2]], now)


def variables(board: Board) -> dict[str, dict[str, Any]]:
    """Return the variables of a dashboard by name."""
    return {variable["name"]: variable for variable in board["templating"]["list"]}


def choices(server: Prometheus, board: Board) -> Iterator[Choice]:
    """Yield every choice that can be made at the top of a dashboard; All of what takes several."""
    yield from _choices(server, list(variables(board).values()), range_of(board), {})


def _choices(
    server: Prometheus, left: list[dict[str, Any]], span: Range, chosen: Choice
) -> Iterator[Choice]:
    if not left:
        yield chosen
        return
    for value in _values(server, left[0], span, chosen):
        yield from _choices(server, left[1:], span, {**chosen, left[0]["name"]: value})


def _values(
    server: Prometheus, variable: Mapping[str, Any], span: Range, chosen: Choice
) -> list[str]:
    kind = variable["type"]
    if kind == "query":
        several = variable["multi"]
        return [variable["allValue"]] if several else options(server, variable, span, chosen)
    if kind == "custom":
        return list(variable["query"].split(","))
    assert kind in ("constant", "datasource")
    return [variable["query"]]


def options(
    server: Prometheus, variable: Mapping[str, Any], span: Range, chosen: Choice
) -> list[str]:
    """Return what a ``label_values`` variable offers when others are chosen already."""
    match = re.fullmatch(r"label_values\((.+), (\w+)\)", filled(variable["query"], span, chosen))
    assert match, variable["query"]
    series = server.api("series", **{"match[]": match[1], "start": span.start, "end": span.end})
    found = {each[match[2]] for each in series if match[2] in each}
    if variable.get("regex"):
        # Grafana's regular expressions are JavaScript's.
        wanted = re.compile(variable["regex"].strip("/").replace("(?<", "(?P<"))
        found = {each["value"] for name in found if (each := wanted.search(name))}
    return sorted(found)


def filled(text: str, span: Range, chosen: Choice) -> str:
    """Return a text with its variables filled in."""
    own = {"__range": f"{round(span.end - span.start)}s", "__interval": span.step[1]}

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name in own:
            return own[name]
        return chosen[name].replace("\\", "\\\\").replace('"', '\\"')

    return _VARIABLE.sub(value, text)


def ask(server: Prometheus, query: Query, span: Range, chosen: Choice) -> list[dict[str, str]]:
    """Return the labels of every series in which a query finds a number."""
    expression = filled(query.expression, span, chosen)
    if query.instant:
        found = server.api("query", query=expression, time=span.end)
        assert found["resultType"] == "vector"
        return [each["metric"] for each in found["result"] if each["value"][1] != "NaN"]
    step = span.step[0]
    start, end = (moment // step * step for moment in (span.start, span.end))
    found = server.api("query_range", query=expression, start=start, end=end, step=step)
    return [
        each["metric"]
        for each in found["result"]
        if any(value != "NaN" for _, value in each["values"])
    ]
