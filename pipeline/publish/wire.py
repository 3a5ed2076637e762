"""Encode samples as a remote-write request of Prometheus (version 1.0), compressed.

The message is Protocol Buffers (prometheus/prompb/remote.proto) with one type of number and one of
string. Encoding it here needs no library and no generated code::

    message WriteRequest { repeated TimeSeries timeseries = 1; }
    message TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2; }
    message Label        { string name = 1; string value = 2; }
    message Sample       { double value = 1; int64 timestamp = 2; }
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache

from cramjam import snappy

from pipeline.publish.samples import Labels, TimedValue, TimeSeries

# A tag is the field's number and its encoding: 1 for eight bytes, 2 for a length and as many bytes,
# 0 for a varint. A nested message is a field like any other.
_FIRST, _SECOND = b"\x0a", b"\x12"
_TIMESTAMP = b"\x10"
_value = struct.Struct("<Bd").pack
_VALUE = 0x09
_BITS_64 = (1 << 64) - 1


def body(series: Iterable[TimeSeries]) -> bytes:
    """Return the compressed body of a request that sends samples."""
    return bytes(snappy.compress_raw(write_request(series)))


def write_request(series: Iterable[TimeSeries]) -> bytes:
    """Return samples in Prometheus's binary format."""
    return b"".join(_field(_FIRST, _time_series(each)) for each in series)


def _time_series(series: TimeSeries) -> bytes:
    return _labels(series.labels) + b"".join(
        _field(_SECOND, _sample(sample)) for sample in series.samples
    )


@lru_cache(maxsize=1 << 16)
def _labels(labels: Labels) -> bytes:
    return b"".join(
        _field(_FIRST, _field(_FIRST, name.encode()) + _field(_SECOND, value.encode()))
        for name, value in labels
    )


def _sample(sample: TimedValue) -> bytes:
    return _value(_VALUE, sample.value) + _TIMESTAMP + varint(sample.at)


def _field(tag: bytes, content: bytes) -> bytes:
    return tag + varint(len(content)) + content


def varint(number: int) -> bytes:
    """Encode a whole number as protobuf does, in groups of seven bits."""
    number &= _BITS_64
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)
