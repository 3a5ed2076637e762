"""The text that promtool reads: what it says is what is read back, to the bit and millisecond."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.publish.openmetrics import exposition, number, selector, timestamp
from pipeline.publish.samples import TimedValue, labelled


def test_samples_are_grouped_by_name_and_the_end_is_marked() -> None:
    one, two = labelled("a", step="x"), labelled("a", step="y")
    other = labelled("b")
    text = "".join(
        exposition(
            [
                (one, TimedValue(1_700_000_000_000, 1.5)),
                (one, TimedValue(1_700_000_000_123, 2)),
                (two, TimedValue(0, math.inf)),
                (other, TimedValue(7, math.nan)),
            ]
        )
    )
    assert text == (
        "# TYPE a gauge\n"
        'a{step="x"} 1.5 1700000000.00025\n'
        'a{step="x"} 2.0 1700000000.12325\n'
        'a{step="y"} +Inf 0.00025\n'
        "# TYPE b gauge\n"
        "b NaN 0.00725\n"
        "# EOF\n"
    )
    assert "".join(exposition([])) == "# EOF\n"


def test_a_name_that_comes_again_is_refused() -> None:
    samples = [(labelled(name), TimedValue(0, 0)) for name in ("a", "b", "a")]
    with pytest.raises(ValueError, match="the samples of a are not consecutive"):
        list(exposition(samples))


def test_what_would_end_a_label_is_escaped() -> None:
    labels = labelled("a", line='say "a\\n"\nand go')
    assert selector(labels) == 'a{line="say \\"a\\\\n\\"\\nand go"}'


@given(st.floats(allow_nan=False))
@settings(deadline=None)
def test_a_number_is_read_back_as_itself(value: float) -> None:
    read = float(number(value))
    assert read == value and math.copysign(1, read) == math.copysign(1, value)


@given(st.integers(-(10**14), 10**14))
@settings(deadline=None)
def test_a_moment_is_read_as_its_millisecond_however_it_is_rounded(at: int) -> None:
    # As Prometheus reads it: int64(seconds * 1000).
    read = float(timestamp(at)) * 1000
    assert int(read) == at and round(read) == at
