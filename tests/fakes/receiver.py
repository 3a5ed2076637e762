"""A receiver of remote writes on loopback: what it was sent, and faults that are used up in order.

It reads requests with a decoder of its own, so it reports what arrived and not what was meant.
"""

from __future__ import annotations

import ssl
import struct
from collections.abc import Callable, Iterator, Mapping
from email.message import Message
from http.server import BaseHTTPRequestHandler
from types import MappingProxyType
from typing import Any, NamedTuple

from cramjam import snappy

from pipeline.publish.samples import Labels, TimedValue, TimeSeries
from tests.fakes.loopback import Loopback


class Fault(NamedTuple):
    """An answer that a request gets instead of being taken.

    A ``status`` of 0 closes the connection; with ``taken`` after the samples were.
    """

    status: int = 0
    words: str = ""
    headers: Mapping[str, str] = MappingProxyType({})
    taken: bool = False


class Receiver(Loopback):
    """What it has is in ``stored``; the headers of every request are in ``asked``.

    ``faults`` are used up in order. ``refuses`` returns what is wrong with a sample (nothing:
    ""): a request that holds one is refused whole, as Prometheus does, with ``refusal``.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.stored: dict[Labels, dict[int, float]] = {}
        self.asked: list[Message] = []
        self.faults: list[Fault] = []
        self.refuses: Callable[[Labels, TimedValue], str] = lambda labels, sample: ""
        self.refusal = 400
        self.scheme = "http"

    @property
    def url(self) -> str:
        """Where it receives."""
        return f"{self.scheme}://127.0.0.1:{self.server_port}/api/v1/write"

    @property
    def samples(self) -> int:
        """How many it has."""
        return sum(map(len, self.stored.values()))

    def encrypted(self, certificate: str, key: str) -> None:
        """Speak TLS from now on."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.scheme = "https"

    def take(self, series: list[TimeSeries]) -> None:
        """Store samples; of two at one time the first stays, as in Prometheus."""
        for labels, samples in series:
            values = self.stored.setdefault(labels, {})
            for sample in samples:
                values.setdefault(sample.at, sample.value)


class _Handler(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        receiver = self.server
        receiver.asked.append(self.headers)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        series = decoded(bytes(snappy.decompress_raw(body)))
        fault = receiver.faults.pop(0) if receiver.faults else None
        if fault is not None:
            if fault.taken:
                receiver.take(series)
            if not fault.status:
                self.close_connection = True
                return
            self._answer(fault.status, fault.words, fault.headers)
            return
        for labels, samples in series:
            for sample in samples:
                if wrong := receiver.refuses(labels, sample):
                    self._answer(receiver.refusal, wrong, {})
                    return
        receiver.take(series)
        self._answer(204, "", {})

    def _answer(self, status: int, words: str, headers: Mapping[str, str]) -> None:
        said = words.encode()
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


def decoded(message: bytes) -> list[TimeSeries]:
    """Read a WriteRequest. Fields of other numbers are skipped."""
    return [_series(content) for number, content in _fields(message) if number == 1]


def _series(message: int | bytes) -> TimeSeries:
    assert isinstance(message, bytes)
    labels, samples = [], []
    for number, content in _fields(message):
        assert isinstance(content, bytes)
        parts = dict(_fields(content))
        if number == 1:
            name, value = parts[1], parts[2]
            assert isinstance(name, bytes) and isinstance(value, bytes)
            labels.append((name.decode(), value.decode()))
        else:
            bits, at = parts[1], parts[2]
            assert isinstance(bits, bytes) and isinstance(at, int)
            signed = at - 2**64 if at >= 2**63 else at
            samples.append(TimedValue(signed, struct.unpack("<d", bits)[0]))
    return TimeSeries(tuple(labels), samples)


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Read the fields of any message, as the documentation of Protocol Buffers describes them."""
    at = 0

    def read_varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number += byte % 128 << shift
            shift += 7
            if byte < 128:
                return number

    while at < len(message):
        number, kind = divmod(read_varint(), 8)
        if kind == 0:
            yield number, read_varint()
            continue
        size = {1: 8, 2: None}[kind]
        size = read_varint() if size is None else size
        assert at + size <= len(message)
        yield number, message[at : at + size]
        at += size
