"""Samples in the order of blocks, against sorting them in memory."""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.publish.samples import Labels, TimedValue, TimeSeries, labelled
from pipeline.publish.spool import Spool

SERIES = [labelled(name, step=step) for name in ("b", "a") for step in ("y", "x")]
SAMPLES = st.builds(TimedValue, st.integers(0, 40), st.floats(allow_nan=False))
PIECES = st.lists(
    st.builds(TimeSeries, st.sampled_from(SERIES), st.lists(SAMPLES, max_size=4)), max_size=12
)


@given(PIECES, PIECES)
@settings(deadline=None)
def test_every_sample_is_once_in_its_span_by_name_series_and_time(
    first: list[TimeSeries], second: list[TimeSeries]
) -> None:
    kept: dict[Labels, dict[int, float]] = {}
    for labels, samples in first + second:
        for at, value in samples:
            kept.setdefault(labels, {}).setdefault(at, value)
    with TemporaryDirectory() as folder:
        spool = Spool(Path(folder) / "samples.db", 10)
        spool.add(first)
        spool.add(second)
        found: dict[Labels, dict[int, float]] = {}
        for span, count in spool.spans():
            samples_of_span = list(spool.samples(span))
            assert len(samples_of_span) == count
            names = [dict(labels)["__name__"] for labels, _ in samples_of_span]
            assert len(set(names)) == sum(a != b for a, b in zip(names, ["", *names], strict=False))
            for labels, sample in samples_of_span:
                assert span == sample.at // 10
                earlier = found.setdefault(labels, {})
                assert all(at < sample.at for at in earlier)
                earlier[sample.at] = sample.value
        spool.close()
    assert found == kept


def test_values_keep_their_bits(tmp_path: Path) -> None:
    values = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 3.0, 2**60 + 0.0]
    spool = Spool(tmp_path / "samples.db", 100)
    spool.add([TimeSeries(SERIES[0], [TimedValue(at, value) for at, value in enumerate(values)])])
    assert [repr(sample.value) for _, sample in spool.samples(0)] == [repr(each) for each in values]
    spool.close()
