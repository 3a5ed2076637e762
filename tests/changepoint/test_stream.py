"""A stream finds after every append what a full run finds, and goes on from its written state."""

from __future__ import annotations

import copy
import inspect
import json
import math
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changepoint import Stream, detect, methods
from changepoint import stream as module
from changepoint.api import detection_of
from changepoint.evaluate.simulate import NOISES, SeriesShape, draw
from changepoint.model import Detection
from changepoint.options import DEFAULTS, Options

pytestmark = pytest.mark.filterwarnings("error")

Row = tuple[float | None, int]


@st.composite
def rows(draw: Any, longest: int) -> list[Row]:
    """Values with their positions, of what nights bring: steps, spikes, gaps, replicates, ties."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    length = draw(st.integers(0, longest))
    values = 100.0 + draw(st.sampled_from([0.0, 0.5, 2.0])) * random.normal(size=length)
    values[draw(st.integers(0, longest)) :] *= draw(st.sampled_from([1.0, 1.04, 0.9, -1.0]))
    values[random.random(length) < draw(st.sampled_from([0.0, 0.1]))] *= 1.5
    values[: draw(st.integers(0, longest))] = draw(st.sampled_from([0.0, 100.0, 1e-9]))
    quantum = draw(st.sampled_from([0.0, 1.0]))
    if quantum:
        values = np.round(values / quantum) * quantum
    values *= draw(st.sampled_from([1.0, 1e-290, 1e290]))
    values[random.random(length) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    new = random.random(length) < draw(st.sampled_from([0.3, 0.8, 1.0]))
    given = [None if math.isnan(value) else value for value in values.tolist()]
    return list(zip(given, np.cumsum(new).tolist(), strict=True))


def appended(row: Row, *streams: Stream, positioned: bool) -> None:
    value, position = row
    for stream in streams:
        if positioned:
            stream.append(value, position)
        else:
            stream.append(value)


def whole(given: list[Row], positioned: bool, options: Options) -> Any:
    values = [value for value, _ in given]
    return detect(values, positions=[p for _, p in given] if positioned else None, **options)


@pytest.mark.parametrize("method", methods())
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_equals_a_full_run_after_every_append_and_from_its_state(method: str, data: Any) -> None:
    given = data.draw(rows(longest=24 if method == "edivisive" else 90))
    positioned = data.draw(st.booleans())
    options = Options(
        method=method,
        alarms_per_1000=data.draw(st.sampled_from([0.5, 20.0])),
        min_effect=data.draw(st.sampled_from([0.0, 0.05])),
        direction=data.draw(st.sampled_from([None, "decrease"])),
        seed=data.draw(st.sampled_from([0, 7])),
    )
    moment = data.draw(st.integers(0, len(given)))
    streams = [Stream(**options)]
    for i, row in enumerate(given):
        if i == moment:
            streams.append(Stream.from_json(streams[0].to_json()))
            streams.append(pickle.loads(pickle.dumps(streams[0])))  # noqa: S301 - our own
        appended(row, *streams, positioned=positioned)
        expected = whole(given[: i + 1], positioned, options)
        for stream in streams:
            assert stream.detection() == expected
            assert len(stream) == i + 1
    assert len({stream.to_json() for stream in streams}) == 1


@pytest.mark.parametrize("method", methods())
@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("replicates", [1, 3])
def test_a_long_series_of_every_noise(method: str, kind: str, replicates: int) -> None:
    length = {"default": 260, "edivisive": 24}.get(method, 90)
    ladder = SeriesShape(length // replicates, replicates)
    values = draw(NOISES[kind], ladder, np.random.default_rng(31), sigma=2.0)
    third = len(values) // 3
    values[third:] *= 1.06
    values[third + 30 : 2 * third] *= 0.9
    labels = ladder.labels().tolist()
    positioned = replicates > 1
    stream = Stream(method=method)
    for i, row in enumerate(zip(values.tolist(), labels, strict=True)):
        appended(row, stream, positioned=positioned)
        positions = labels[: i + 1] if positioned else None
        assert stream.detection() == detect(values[: i + 1], positions=positions, method=method)


@st.composite
def nights(draw: Any) -> list[float | None]:
    """Values whose scale, clipping and modes change while they come, in every way there is."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    length = draw(st.integers(1, 150))
    values = random.normal(size=length)
    values += draw(st.sampled_from([0.0, 6.0])) * (random.random(length) < 0.4)
    for _ in range(draw(st.integers(0, 3))):
        values[draw(st.integers(0, 150)) :] += draw(st.sampled_from([-3.0, 2.0, 40.0]))
    values[random.random(length) < draw(st.sampled_from([0.0, 0.05]))] += 30.0
    quantum = draw(st.sampled_from([0.0, 0.5, 4.0]))
    if quantum:
        values = np.round(values / quantum) * quantum
    values = 100.0 + values * draw(st.sampled_from([1e-13, 0.5, 5.0]))
    values[: draw(st.sampled_from([0, 0, 0, 1, 12, 40]))] = draw(st.sampled_from([100.0, 0.0, 1e6]))
    values[draw(st.integers(0, 150)) :][:1] *= draw(st.sampled_from([1.0, 1e3, -1e290]))
    missing = random.random(length) < draw(st.sampled_from([0.0, 0.0, 0.15]))
    return [None if m else v for v, m in zip(values.tolist(), missing.tolist(), strict=True)]


def levels(detection: Detection) -> tuple[int, ...]:
    return tuple(change.index for change in detection.changes if change.kind == "level")


@settings(max_examples=60, deadline=None)
@given(nights(), st.sampled_from([0.5, 20.0]), st.lists(st.booleans(), min_size=3, max_size=3))
def test_a_resumed_search_equals_a_full_one(given: Any, budget: float, asked: Any) -> None:
    stream = Stream(alarms_per_1000=budget)
    for i, value in enumerate(given):
        stream.append(value)
        expected = detect(given[: i + 1], alarms_per_1000=budget)
        # Some nights nobody asks, some nights for the one and not for the other.
        if asked[i % 3]:
            assert stream.indices == levels(expected)
        if asked[i % 2]:
            assert stream.detection() == expected
        assert stream.indices == levels(expected)


def test_a_long_resumed_search_equals_full_ones() -> None:
    random = np.random.default_rng(77)
    values = random.normal(100.0, 2.0, 3000)
    for at in random.integers(50, 3000, 12):
        values[at:] *= random.choice([0.93, 1.05])
    values[random.random(3000) < 0.01] *= 3.0
    values[1400:1900] += random.choice([0.0, 14.0], 500)
    values[2500] = 1e5
    stream = Stream()
    for i, value in enumerate(values.tolist(), 1):
        stream.append(value)
        found = stream.indices
        if i % 50 == 0:
            expected = detect(values[:i])
            assert found == levels(expected)
            assert stream.detection() == expected
    assert len(stream.indices) >= 10


@pytest.mark.parametrize("method", methods())
def test_indices_are_of_all_directions(method: str) -> None:
    random = np.random.default_rng(6)
    values = random.normal(100, 2, 90)
    values[30:] *= 1.2
    values[60:] *= 0.7
    values[50] = math.nan
    expected = levels(detect(values, method=method))
    assert len(expected) == 2
    for options in (Options(), Options(direction="increase"), Options(min_effect=1e-9)):
        options["method"] = method
        stream = Stream(**options)
        stream.extend(values)
        assert stream.indices == expected
        labelled = Stream(**options)
        labelled.extend(values, np.arange(90))
        assert labelled.indices == expected


@pytest.mark.parametrize("method", methods())
def test_looking_seldom_finds_the_same(method: str) -> None:
    random = np.random.default_rng(5)
    values = random.normal(100, 2, 130)
    values[70:] *= 1.08
    values[33] = 160.0
    stream = Stream(method=method)
    for start, stop in ((0, 1), (1, 1), (1, 20), (20, 97), (97, 130)):
        stream.extend(values[start:stop])
        if start != 20:
            assert stream.detection() == detect(values[:stop], method=method)
    assert [change.index for change in stream.changes] == [70]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.floats(-1e300, 1e300)), max_size=200),
    st.lists(st.integers(0, 200), max_size=6),
)
def test_blocks_and_states_keep_every_value(values: Any, cuts: Any) -> None:
    edges = [0, *sorted(min(cut, len(values)) for cut in cuts), len(values)]
    stream = Stream()
    for start, stop in pairwise(edges):
        stream.extend(values[start:stop])
        stream = Stream.from_json(stream.to_json())
    assert stream.to_dict()["values"] == values
    assert len(stream) == len(values)


@pytest.mark.parametrize(
    ("labels", "written"),
    [
        (["17.0", "17.0", "17.1"], ["17.0", "17.0", "17.1"]),
        ([1, 1.5, 10**30], [1, 1.5, 10**30]),
        (np.array([3, 4, 4]), [3, 4, 4]),
        (np.array(["a", "b", "c"]), ["a", "b", "c"]),
        ([np.float32(0.5), np.int8(2), True + 1], [0.5, 2, 2]),
    ],
)
def test_labels_are_written_as_they_are(labels: Any, written: Any) -> None:
    stream = Stream()
    for value, label in zip((1.0, math.nan, 2.0), labels, strict=True):
        stream.append(value, label)
    assert stream.to_dict()["positions"] == written
    assert json.loads(stream.to_json())["positions"] == written
    assert stream.detection() == detect([1.0, None, 2.0], positions=labels)
    assert Stream.from_json(stream.to_json()).detection() == stream.detection()


def test_the_values_are_the_streams_own() -> None:
    values = np.array([1.0, 2.0])
    stream = Stream()
    stream.extend(values)
    values[0] = 9.0
    stream.to_dict()["values"].append(3.0)
    other = copy.copy(stream)
    other.append(5.0)
    assert stream.to_dict()["values"] == [1.0, 2.0]
    assert (len(stream), len(other)) == (2, 3)


def test_found_once_until_the_next_append(monkeypatch: Any) -> None:
    calls = []

    def counting(series: Any, *rest: Any, **options: Any) -> Any:
        calls.append(series.length)
        return detection_of(series, *rest, **options)

    monkeypatch.setattr(module, "detection_of", counting)
    stream = Stream()
    stream.extend([1.0] * 100)
    for _ in range(3):
        assert stream.changes == stream.detection().changes
    stream.extend([])
    stream.detection()
    assert calls == [100]
    stream.append(2.0)
    assert not stream.changes
    assert calls == [100, 101]


def test_the_room_doubles(monkeypatch: Any) -> None:
    made = []
    empty = np.empty

    def counting(size: int) -> Any:
        made.append(size)
        return empty(size)

    monkeypatch.setattr(np, "empty", counting)
    stream = Stream()
    for i in range(1000):
        stream.append(float(i))
    assert stream.to_dict()["values"] == list(range(1000))
    assert made == [64, 128, 256, 512, 1024]


@pytest.mark.parametrize(
    ("value", "position", "message"),
    [
        (math.inf, 5, "inf"),
        (1e301, 5, "within"),
        ("x", 5, "numbers"),
        ([1.0], 5, "one-dimensional"),
        (1.0, 3, "positions must be sorted, but 3 follows 4"),
        (1.0, "5", "all numbers or all strings"),
        (1.0, math.nan, "numbers or strings"),
        (1.0, [5], "numbers or strings"),
        (1.0, None, "every value of a stream, or for none"),
    ],
)
def test_what_is_refused_leaves_the_stream(value: Any, position: Any, message: str) -> None:
    stream = Stream()
    stream.extend([1.0, None, 2.0], [1, 1, 4])
    before, detection = stream.to_json(), stream.detection()
    with pytest.raises(ValueError, match=message) as caught:
        stream.append(value, position)
    assert "\n" not in str(caught.value)
    assert stream.to_json() == before
    assert stream.detection() is detection
    stream.append(3.0, 4)
    assert stream.detection() == detect([1.0, None, 2.0, 3.0], positions=[1, 1, 4, 4])


@pytest.mark.parametrize(
    ("values", "positions", "message"),
    [
        ([1.0, 2.0], [5], "need 2 positions, not 1"),
        ([1.0, 2.0], [6, 5], "sorted"),
        ([1.0, math.inf], [5, 6], "value 1 is inf"),
    ],
)
def test_a_block_is_taken_whole_or_not_at_all(values: Any, positions: Any, message: str) -> None:
    stream = Stream()
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            stream.extend(values, positions)
        assert len(stream) == 0
    stream.append(1.0)
    with pytest.raises(ValueError, match="every value of a stream, or for none"):
        stream.append(1.0, 2)


def test_an_empty_block_decides_nothing() -> None:
    stream = Stream()
    stream.extend([], [])
    stream.extend([1.0])
    stream.extend([], [])
    assert stream.detection() == detect([1.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "method 'magic' does not exist"),
        ({"alarms_per_1000": 0.0}, "alarms_per_1000"),
        ({"min_effect": -1.0}, "min_effect"),
        ({"direction": "up"}, "direction"),
        ({"seed": -1}, "seed"),
    ],
)
def test_options_are_refused_at_once(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Stream(**options)


def test_the_options_are_those_of_detect() -> None:
    known = inspect.signature(detect).parameters
    assert dict(DEFAULTS) == {
        name: parameter.default
        for name, parameter in known.items()
        if name not in ("values", "positions", "noise", "autocorrelation")
    }
    assert Stream().to_dict()["options"] == dict(DEFAULTS)
    odd = Stream(seed=np.int64(3), alarms_per_1000=np.float64(0.25))  # type: ignore[arg-type]
    assert Stream.from_json(odd.to_json()).to_dict() == odd.to_dict()


def state(**changed: Any) -> str:
    stream = Stream()
    stream.extend([1.0, 2.0], [1, 2])
    return json.dumps({**stream.to_dict(), **changed})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"version": 1}',
        state(options={"method": "magic"}),
        state(options={"colour": 1}),
        state(options=None),
        state(values=None),
        state(values=[1.0, "x"]),
        state(values=[1.0, [2.0]]),
        state(values=[1.0, math.inf]),
        state(values=[1.0, 10**400]),
        state(positions=[1]),
        state(positions=[2, 1]),
        state(positions=7),
        state(positions=[None, 1]),
    ],
)
def test_a_text_that_is_no_state(text: str) -> None:
    with pytest.raises(ValueError, match="the saved state of the stream is invalid") as caught:
        Stream.from_json(text)
    assert "\n" not in str(caught.value)


def test_a_state_of_another_version() -> None:
    with pytest.raises(ValueError, match="has version 2, but this release reads only version 1"):
        Stream.from_json(state(version=2, values="another form"))
