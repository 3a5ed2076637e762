"""The committed dashboards: what can be known of them without data."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards import __main__ as command
from dashboards import links
from pipeline.publish.names import (
    FIGURES,
    OTHERS,
    REVISION,
    RUN,
    SERIES_LABELS,
    VERSION,
    full_name,
)
from tests.dashboards.grafana import Board, Range, boards, panels, queries, variables

BOARDS = boards()
EACH = pytest.mark.parametrize("name", BOARDS)

NAMES = {other.name: set(other.labels) for other in OTHERS.values()} | {
    full_name(view, figure): {*SERIES_LABELS, *figure.labels, *more}
    for view, more in ((RUN, ()), (REVISION, ()), (VERSION, ("revision",)))
    for figure in FIGURES.values()
}
"""Labels of every published metric."""

SELECTOR = re.compile(r"(nightshift_[\w${}]*\w)?\{([^{}]*)\}")
MATCHER = re.compile(r'(\w+)(?:=~|!~|!=|=)"')


def test_the_committed_json_is_what_the_code_makes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["dashboards", "--check"])
    assert command.main() == 0, capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["dashboards", "--output", str(tmp_path)])
    assert command.main() == 0
    (tmp_path / "overview.json").write_text("{}\n")
    (tmp_path / "old.json").write_text("{}\n")
    monkeypatch.setattr("sys.argv", ["dashboards", "--check", "--output", str(tmp_path)])
    assert command.main() == 1
    assert capsys.readouterr().err.startswith("old.json, overview.json in ")


def test_addresses_of_other_places_are_given_when_they_are_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    site = "https://bench.example/site/"
    monkeypatch.setattr("sys.argv", ["dashboards", "--output", str(tmp_path), "--site-url", site])
    assert command.main() == 0
    for path in tmp_path.iterdir():
        given = variables(json.loads(path.read_text()))
        assert given["site_url"]["query"] == site
        assert given["issues_url"]["query"] == ""
    assert len(list(tmp_path.iterdir())) == len(BOARDS)


@EACH
def test_it_is_of_the_schema_of_the_pinned_sdk(name: str) -> None:
    board = BOARDS[name]
    assert board["schemaVersion"] == 41
    read = json.loads(json.dumps(Dashboard.from_json(board), cls=JSONEncoder))
    pairs = zip(board["annotations"]["list"], read["annotations"]["list"], strict=True)
    for event, known in pairs:
        # The SDK has no fields for the texts of an annotation of Prometheus.
        known.update({text: event[text] for text in ("titleFormat", "textFormat", "tagKeys")})
    assert read == board


def test_uids_stay_as_they_are_because_addresses_hold_them() -> None:
    assert {name: board["uid"] for name, board in BOARDS.items()} == {
        "overview": "nightshift-overview",
        "target-trend": "nightshift-trend",
        "step-detail": "nightshift-step",
        "counts": "nightshift-counts",
        "compare-versions": "nightshift-compare",
        "insert-benchmark": "nightshift-insert-benchmark",
        "machines": "nightshift-machines",
        "pipeline": "nightshift-pipeline",
    }


@EACH
def test_panels_have_their_place_and_say_what_they_show(name: str) -> None:
    board = BOARDS[name]
    ids = [panel["id"] for panel in board["panels"]]
    titles = [panel["title"] for panel in panels(board)]
    assert len(set(ids)) == len(ids)
    assert len(set(titles)) == len(titles)
    places = [panel["gridPos"] for panel in board["panels"]]
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or above, (one, other)
    assert all(place["x"] >= 0 and place["x"] + place["w"] <= 24 for place in places)
    for panel in panels(board):
        assert panel["description"].endswith(".")
        assert panel["datasource"]["uid"] == "${datasource}"
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references) > 0
        assert panel["type"] == "table" or panel["fieldConfig"]["defaults"]["unit"]


@EACH
def test_every_metric_and_every_label_is_one_that_is_published(name: str) -> None:
    board = BOARDS[name]
    texts = [query.expression for query in queries(name, board)]
    texts += [each["query"] for each in variables(board).values() if each["type"] == "query"]
    for text in texts:
        assert SELECTOR.search(text), text
        for metric, matchers in SELECTOR.findall(text):
            labels = set(MATCHER.findall(matchers)) - {"__name__"}
            if metric:
                for view in (REVISION, RUN):
                    assert labels <= NAMES[metric.replace("${view}", view)], metric
            else:
                assert labels <= {*SERIES_LABELS, "revision"}


@EACH
def test_nothing_depends_on_how_far_prometheus_looks_back_by_itself(name: str) -> None:
    for query in queries(name, BOARDS[name]):
        for match in SELECTOR.finditer(query.expression):
            assert query.expression[match.end()] == "[", query
        # Grafana's axis ends at a whole interval: what was measured since is behind it.
        ends = query.expression.count("@ end()")
        assert query.expression.count("@ end() offset -$__interval") == ends


@EACH
def test_every_variable_that_is_used_can_be_chosen(name: str) -> None:
    board = BOARDS[name]
    known = {"__range", "__interval", *variables(board)}
    for query in queries(name, board):
        used = {one or two for one, two in re.findall(r"\$(\w+)|\$\{(\w+)\}", query.expression)}
        assert used <= known
    before: set[str] = set()
    for variable in variables(board).values():
        if variable["type"] == "query":
            assert set(re.findall(r"\$(\w+)", variable["query"])) <= before
        before.add(variable["name"])


def links_in(value: Any) -> list[str]:
    """Every address in a part of a dashboard."""
    if isinstance(value, dict):
        own = [value["url"]] if isinstance(value.get("url"), str) else []
        return own + [link for each in value.values() for link in links_in(each)]
    if isinstance(value, list):
        return [link for each in value for link in links_in(each)]
    return []


@EACH
def test_links_lead_to_dashboards_and_set_variables_that_are_there(name: str) -> None:
    board = BOARDS[name]
    by_uid = {each["uid"]: each for each in BOARDS.values()}
    for link in filter(None, links_in(board)):
        for used in re.findall(r"\$\{(\w+)", link):
            assert used.startswith("__") or used in variables(board)
        if link.startswith("/d/"):
            match = re.fullmatch(r"/d/([\w-]+)\?\$\{__url_time_range\}(.*)", link)
            assert match, link
            given = set(re.findall(r"&var-(\w+)=", match[2]))
            assert given and given <= set(variables(by_uid[match[1]]))
        else:
            assert re.match(r"\$\{(report|site|issues)_url\}", link), link
    assert board["tags"] == [links.TAG]
    others = board["links"][0]
    assert (others["type"], others["tags"]) == ("dashboards", [links.TAG])
    assert others["includeVars"] and others["keepTime"]


def shown_fields(panel: Board) -> set[str]:
    """Fields of a table after its transformations, by the names that links know them by."""
    names: set[str] = set()
    for change in panel["transformations"]:
        if change["id"] == "filterFieldsByName":
            names |= set(change["options"]["include"]["names"])
        if change["id"] == "organize":
            names |= set(change["options"]["renameByName"].values())
    return names


@EACH
def test_links_of_rows_and_points_name_what_a_row_or_a_point_has(name: str) -> None:
    for panel in panels(BOARDS[name]):
        text = " ".join(links_in(panel))
        fields = set(re.findall(r'__data\.fields\["([^"]+)"\]', text))
        assert not fields or fields <= shown_fields(panel), panel["title"]
        for label in re.findall(r"__field\.labels\.(\w+)", text):
            assert all(f"{{{{{label}}}}}" in each["legendFormat"] for each in panel["targets"])


def test_everybody_can_distinguish_the_colours() -> None:
    text = json.dumps([panels(board) for board in BOARDS.values()])
    # Okabe and Ito's, and grey; nothing else, and none of Grafana's named reds and greens.
    assert {color.upper() for color in re.findall(r"#[0-9A-Fa-f]{6}", text)} <= {
        *("#D55E00", "#E69F00", "#56B4E9", "#0072B2", "#009E73", "#CC79A7", "#F0E442"),
        "#8E8E8E",
    }
    assert not re.search(r'"(color|fixedColor)": "[a-z-]*(red|green)', text)


def test_everything_that_is_published_beside_figures_is_shown() -> None:
    shown = " ".join(
        query.expression for name, board in BOARDS.items() for query in queries(name, board)
    ).replace("${view}", RUN)
    unshown = {name for name, other in OTHERS.items() if other.name not in shown}
    # It is the time at which every sample of a revision stands.
    assert unshown == {"version_timestamp_seconds"}


def test_intervals_are_rounded_as_grafana_does() -> None:
    day = 86400.0
    for days, text in ((1, "1m"), (30, "30m"), (90, "2h"), (365, "6h"), (1825, "1d")):
        assert Range(0, days * day).step[1] == text
