"""Every expression of every dashboard, asked of a real Prometheus as Grafana asks it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from pipeline.publish.all_groups import opening
from pipeline.publish.remote import RemoteWriter
from tests.dashboards import synthetic
from tests.dashboards.asked import fields_of, unanswered, unoffered
from tests.dashboards.grafana import (
    Range,
    ask,
    boards,
    choices,
    filled,
    panels,
    queries,
    range_of,
)
from tests.prometheus import CONFIG, Prometheus

BOARDS = boards()
EACH = pytest.mark.parametrize("name", BOARDS)

RELATIVE = 'nightshift_revision_relative_throughput_ratio{stat="median"}'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus with samples of every published name."""
    started = Prometheus(tmp_path_factory.mktemp("prometheus"), CONFIG)
    started.start()
    try:
        write = RemoteWriter(started.write_url).write
        write(opening("one", 0, datetime.now(UTC)))
        assert write(synthetic.series()).refused == 0
        assert write(synthetic.taken_back()).refused == 0
        yield started
    finally:
        started.kill()


@EACH
def test_every_panel_every_annotation_and_every_variable_has_data(
    server: Prometheus, name: str
) -> None:
    assert unanswered(server, name, BOARDS[name]) == []
    assert unoffered(server, BOARDS[name]) == []


@EACH
def test_transformations_and_columns_are_of_fields_that_are_there(
    server: Prometheus, name: str
) -> None:
    board = BOARDS[name]
    chosen = next(choices(server, board))
    for panel in panels(board):
        fields = fields_of(server, panel, range_of(board), chosen)
        for change in panel.get("transformations", []):
            options = change["options"]
            wanted: set[str] = set()
            if change["id"] == "sortBy":
                wanted = {each["field"] for each in options["sort"]}
            elif change["id"] == "filterFieldsByName":
                wanted = set(options["include"]["names"])
                fields &= wanted
            elif change["id"] == "groupingToMatrix":
                keys = ("columnField", "rowField", "valueField")
                wanted = {options[key] for key in keys}
                assert wanted <= fields
                corner = f"{options['rowField']}\\{options['columnField']}"
                wanted = fields = {corner, *synthetic.REVISIONS}
            elif change["id"] == "organize":
                wanted = set(options["renameByName"])
            assert wanted <= fields, (panel["title"], change["id"])
        for override in panel["fieldConfig"]["overrides"]:
            if override["matcher"]["id"] == "byName":
                renamed = panel["transformations"][-1]["options"]["renameByName"]
                assert override["matcher"]["options"] in renamed.values()


def test_the_grid_is_in_the_order_of_the_line_and_costs_are_turned_over(
    server: Prometheus,
) -> None:
    board = BOARDS["compare-versions"]
    [ratios] = [panel for panel in panels(board) if panel["title"] == "Relative to $base"]
    turned = 0
    for chosen in choices(server, board):
        expression = filled(ratios["targets"][0]["expr"], range_of(board), chosen)
        found = {
            (labels["place"], labels["revision"]): value
            for series, value in server.query(expression).items()
            if (labels := dict(series))
        }
        cost = any(word in chosen["metric"] for word in ("per_operation", "latency"))
        ratio = 0.5 if cost == (chosen["base"] == "17.0") else 2.0
        assert found == {
            ("1000000", "17.0"): 1.0 if chosen["base"] == "17.0" else ratio,
            ("1000001", "17.1"): 1.0 if chosen["base"] == "17.1" else ratio,
        }
        turned += cost
    assert turned


def test_the_newest_is_over_the_first_of_the_line(server: Prometheus) -> None:
    board = BOARDS["overview"]
    [lines] = [panel for panel in panels(board) if panel["title"].startswith("Lines:")]
    chosen = next(choices(server, board))
    for target in lines["targets"]:
        expression = filled(target["expr"], range_of(board), chosen)
        assert list(server.query(expression).values()) == [2.0]


def test_what_needs_a_look_does_so_whatever_the_time_range(server: Prometheus) -> None:
    board = BOARDS["overview"]
    chosen = next(choices(server, board))
    now = range_of(board).end
    open_ones = [
        query
        for query in queries("overview", board)
        if query.where in ("Regressions confirmed", "Regressions that need a look")
    ]
    assert len(open_ones) == 3
    for query in open_ones:
        whole, minutes = (
            ask(server, query, Range(start, now), chosen)
            for start in (range_of(board).start, now - 600)
        )
        assert len(minutes) == len(whole) == 1, "decided an hour ago"
    [count] = [query for query in open_ones if query.where == "Regressions confirmed"]
    expression = filled(count.expression, Range(now - 600, now), chosen)
    assert list(server.query(expression).values()) == [1.0]


@pytest.mark.parametrize("name", ["overview", "target-trend", "step-detail"])
def test_what_is_taken_back_is_neither_drawn_nor_listed(server: Prometheus, name: str) -> None:
    board = BOARDS[name]
    reported = 0
    for chosen in choices(server, board):
        for query in queries(name, board):
            found = ask(server, query, range_of(board), chosen)
            prints = {labels["fingerprint"] for labels in found if "fingerprint" in labels}
            assert synthetic.GONE not in prints, query
            reported += len(prints)
    assert reported


def test_an_annotation_says_the_effect_in_percent(server: Prometheus) -> None:
    board = BOARDS["target-trend"]
    chosen = next(choices(server, board))
    events = [query for query in queries("", board) if query.where.startswith("Change points of")]
    assert len(events) == 2
    for query in events:
        found = ask(server, query, range_of(board), chosen)
        assert {labels["percent"] for labels in found} == {"-12"}


@pytest.mark.parametrize("days", [90, 365, 1825, 7300])
def test_every_sample_is_on_the_axis_once_and_that_of_today_too(
    server: Prometheus, days: int
) -> None:
    board = BOARDS["target-trend"]
    [query] = [each for each in queries("", board) if each.where == "Median of each group"]
    now = range_of(board).end
    span = Range(now - days * 86400, now)
    step, _ = span.step
    start, end = (moment // step * step for moment in (span.start, span.end))
    expression = filled(query.expression, span, next(choices(server, board)))
    [points] = server.query_range(expression, start, end, step).values()
    samples = next(iter(server.samples(RELATIVE).values()))
    # Each stands at the place before it, up to which Grafana's axis reaches.
    assert {point.at for point in points} == {
        (sample.at - 1) // (1000 * step) * 1000 * step for sample in samples
    }
