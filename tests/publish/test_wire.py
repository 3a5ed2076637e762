"""The message of a remote write, read back by a decoder of its own and by a real Prometheus."""

from __future__ import annotations

import math

import pytest
import requests
from cramjam import snappy
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.publish.samples import Labels, TimedValue, TimeSeries, labelled
from pipeline.publish.wire import body, varint, write_request
from tests.fakes.receiver import decoded
from tests.prometheus import Prometheus

MILLISECONDS = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
LABELS: st.SearchStrategy[Labels] = st.dictionaries(TEXT, TEXT, min_size=1, max_size=5).map(
    lambda labels: tuple(sorted(labels.items()))
)
SERIES = st.builds(
    TimeSeries,
    LABELS,
    st.lists(st.builds(TimedValue, MILLISECONDS, st.floats(allow_nan=False)), max_size=5),
)


@given(st.lists(SERIES, max_size=4))
@settings(deadline=None)
def test_what_was_written_is_read_back(series: list[TimeSeries]) -> None:
    assert decoded(write_request(series)) == series
    assert bytes(snappy.decompress_raw(body(series))) == write_request(series)


@given(st.integers(0, 2**64 - 1))
@settings(deadline=None)
def test_a_varint_takes_seven_bits_a_byte(number: int) -> None:
    written = varint(number)
    assert len(written) == max(1, math.ceil(number.bit_length() / 7))
    assert sum((byte & 0x7F) << 7 * place for place, byte in enumerate(written)) == number


@pytest.mark.parametrize(
    ("number", "written"),
    [(0, "00"), (1, "01"), (150, "9601"), (-1, "ffffffffffffffffff01")],
)
def test_varints_of_the_specification(number: int, written: str) -> None:
    assert varint(number).hex() == written


def test_a_value_that_is_no_number_stays_none() -> None:
    (series,) = decoded(
        write_request([TimeSeries((("__name__", "x"),), [TimedValue(5, math.nan)])])
    )
    assert math.isnan(series.samples[0].value)


VALUES = [0.0, -0.0, 1.5, -1e308, 5e-324, math.inf, -math.inf, math.nan]


def test_prometheus_reads_every_kind_of_value_and_label(prometheus: Prometheus) -> None:
    labels = labelled("nightshift_test", step='quote " back \\ line\nbreak', line="Straße 数据 🌙")
    # A minute apart, in the past and before 1970.
    samples = [TimedValue(60_000 * place - 90_000, value) for place, value in enumerate(VALUES)]
    many = [TimeSeries(labelled("nightshift_many", n=n), [TimedValue(n, n)]) for n in range(500)]
    answer = requests.post(
        prometheus.write_url,
        data=body([TimeSeries(labels, samples), *many]),
        headers={"Content-Encoding": "snappy"},
        timeout=10,
    )
    assert answer.status_code == 204, answer.text
    assert prometheus.samples("nightshift_many") == {
        series.labels: list(series.samples) for series in many
    }
    ((found, values),) = prometheus.samples("nightshift_test").items()
    assert found == labels
    assert [repr(each) for each in values] == [repr(each) for each in samples]
