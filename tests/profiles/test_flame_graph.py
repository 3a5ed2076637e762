"""The picture, read back as the XML that it is."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from pipeline.profiles.flame_graph import (
    BLUE,
    MARGIN,
    RED,
    ROW,
    WIDTH,
    difference_graph,
    flame_graph,
)

SVG = "{http://www.w3.org/2000/svg}"
STACKS = {"main;b;c": 30, "main;b": 10, "main;a<int>": 50, "other;schedule_[k]": 10}


def read(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)  # noqa: S314 - our own


def frames(picture: str) -> dict[str, dict[str, float]]:
    """The rectangles of all frames, by what their tooltips say."""
    found = {}
    for group in read(picture).iter(f"{SVG}g"):
        title, box = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        assert title is not None and title.text is not None and box is not None
        found[title.text] = {name: float(box.attrib[name]) for name in ("x", "y", "width")}
    return found


def test_every_frame_reports_its_samples_and_its_share() -> None:
    assert set(frames(flame_graph(STACKS, "t"))) == {
        "all (100 samples, 100.00 %)",
        "main (90 samples, 90.00 %)",
        "b (40 samples, 40.00 %)",
        "c (30 samples, 30.00 %)",
        "a<int> (50 samples, 50.00 %)",
        "other (10 samples, 10.00 %)",
        "schedule_[k] (10 samples, 10.00 %)",
    }


def test_width_is_the_share_and_callers_are_below() -> None:
    boxes = {title.split(" (")[0]: box for title, box in frames(flame_graph(STACKS, "t")).items()}
    whole = WIDTH - 2 * MARGIN
    assert boxes["all"]["width"] == pytest.approx(whole)
    assert boxes["c"]["width"] == pytest.approx(0.3 * whole)
    for caller, called in (("all", "main"), ("main", "b"), ("b", "c"), ("other", "schedule_[k]")):
        assert boxes[called]["y"] == boxes[caller]["y"] - ROW
        assert boxes[called]["x"] >= boxes[caller]["x"] - 0.1
    # In the order of their names, side by side.
    assert boxes["b"]["x"] == pytest.approx(
        boxes["a<int>"]["x"] + boxes["a<int>"]["width"], abs=0.2
    )


def test_it_needs_nothing_else() -> None:
    picture = flame_graph(STACKS, "postgres 17.11, <one> & other")
    root = read(picture)
    assert "postgres 17.11, <one> & other" in [text.text for text in root.iter(f"{SVG}text")]
    assert not re.search(r"script|href|@import|url\(", picture)
    assert picture == flame_graph(dict(reversed(STACKS.items())), "postgres 17.11, <one> & other")


def test_names_are_cut_to_their_frames_and_the_narrowest_frames_are_left_out() -> None:
    long = "a_function_of_quite_a_long_name" * 10
    picture = flame_graph({"one;" + long: 100_000, "two;tiny": 1}, "t")
    assert f"{long} (100000 samples, 100.00 %)" in frames(picture)
    assert f">{long}<" not in picture
    assert "tiny" not in picture


def test_no_samples_are_an_empty_picture() -> None:
    assert frames(flame_graph({}, "t")) == {}


def colours(picture: str) -> dict[str, str]:
    """The colour of every frame, by its name."""
    found = {}
    for group in read(picture).iter(f"{SVG}g"):
        title, box = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        assert title is not None and title.text is not None and box is not None
        found[title.text.split(" (")[0]] = box.attrib["fill"]
    return found


def test_what_gained_is_red_what_lost_is_blue_and_the_rest_is_white() -> None:
    before = {"main;a": 50, "main;b": 30, "main;c": 20, "main;gone": 0}
    after = {"main;a": 50, "main;b": 40, "main;c": 10}
    found = colours(difference_graph(before, after, "t"))
    assert found["b"].startswith(f"hsl({RED},")
    assert found["c"].startswith(f"hsl({BLUE},")
    assert found["b"].split(",")[2] == found["c"].split(",")[2]
    assert found["a"].endswith(",97%)") and found["main"].endswith(",97%)")


def test_a_change_without_weight_stays_pale() -> None:
    before, after = {"main;a": 100_000}, {"main;a": 100_100}
    found = colours(difference_graph(before, after, "t", cost=100_000 / 100_100))
    assert found["a"] == f"hsl({RED},85%,93%)"


def test_shares_are_of_what_an_operation_took_before() -> None:
    # As much as before, and as much again: only the new half gained.
    before, after = {"main;a": 100}, {"main;a": 100, "main;new": 100}
    titles = frames(difference_graph(before, after, "t", cost=0.5))
    assert "a (100 samples, 50.00 %, +0.00 % of an operation)" in titles
    assert "new (100 samples, 50.00 %, +50.00 % of an operation)" in titles
    assert "all (200 samples, 100.00 %, +50.00 % of an operation)" in titles
