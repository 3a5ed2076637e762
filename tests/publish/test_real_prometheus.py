"""The server that the tests of publishing ask: what they take for granted of it."""

from __future__ import annotations

from tests.prometheus import Prometheus


def test_it_starts_empty_answers_and_starts_again_after_it_was_frozen(
    prometheus: Prometheus,
) -> None:
    assert prometheus.count() == 0
    assert prometheus.query("vector(3)") == {(): 3.0}
    assert prometheus.query("1 + 1") == {(): 2.0}
    prometheus.freeze()
    prometheus.stop()
    prometheus.start()
    assert prometheus.query_range("vector(7)", 0, 60, 60) == {(): [(0, 7.0), (60_000, 7.0)]}
