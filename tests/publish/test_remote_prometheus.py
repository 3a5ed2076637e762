"""Remote write to a real Prometheus: what it refuses, and when it dies, stands still or is full."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.publish.remote import RemoteWriteError, RemoteWriter, Written
from pipeline.publish.samples import TimedValue, TimeSeries, labelled
from tests.prometheus import Prometheus

DAY = 86_400_000
NOW = 1_700_000_000_000


def make_series(count: int, revisions: int, first: int = 0) -> list[TimeSeries]:
    """Make series over three years."""
    step = 3 * 365 * DAY // revisions
    return [
        TimeSeries(
            labelled("nightshift_test", n=n),
            [TimedValue(NOW - at * step, n + at / 10) for at in reversed(range(revisions))],
        )
        for n in range(first, first + count)
    ]


def writer(server: Prometheus, **settings: object) -> RemoteWriter:
    return RemoteWriter(server.write_url, **settings)  # type: ignore[arg-type]


def assert_has(server: Prometheus, series: list[TimeSeries]) -> None:
    expected = {each.labels: list(each.samples) for each in series}
    assert server.samples("nightshift_test") == expected


def test_three_years_arrive_to_the_millisecond_and_twice_is_once(prometheus: Prometheus) -> None:
    series = make_series(20, 100)
    for _ in range(2):
        assert writer(prometheus, batch=300).write(series) == Written(sent=2000)
    assert_has(prometheus, series)
    prometheus.kill()
    prometheus.start()
    assert_has(prometheus, series)


def test_what_it_refuses_loses_nothing_else(prometheus: Prometheus) -> None:
    newest = TimeSeries(labelled("nightshift_other"), [TimedValue(NOW, 1)])
    series = make_series(3, 100)
    too_old = TimeSeries(labelled("nightshift_test", n="old"), [TimedValue(NOW - 4000 * DAY, 1)])
    other_value = TimeSeries(labelled("nightshift_other"), [TimedValue(NOW, 2)])
    twice = TimeSeries((("__name__", "x"), ("n", "1"), ("n", "2")), [TimedValue(NOW, 1)])
    sending = writer(prometheus)
    sending.write([newest])
    written = sending.write([too_old, *series[:1], other_value, *series[1:], twice])
    assert written.sent == 300 and written.refused == 3
    # In its own words, which grow with its versions.
    too_old_words, other_value_words, _ = written.reasons
    assert "too old" in too_old_words and "duplicate sample" in other_value_words
    assert_has(prometheus, series)


def test_without_a_window_for_the_past_all_of_it_is_refused_and_reported(
    start_prometheus: Callable[..., Prometheus],
) -> None:
    server = start_prometheus("global: {}\n")
    writer(server).write([TimeSeries(labelled("nightshift_other"), [TimedValue(NOW, 1)])])
    past = [
        TimeSeries(labelled("nightshift_test", n=n), [TimedValue(NOW - 900 * DAY, n)])
        for n in range(20)
    ]
    assert writer(server).write(past) == Written(refused=20, reasons=("out of bounds",))


def test_killed_in_the_middle_nothing_is_missing_or_doubled(prometheus: Prometheus) -> None:
    series = make_series(40, 50)

    def killing() -> Iterator[TimeSeries]:
        for place, each in enumerate(series):
            if place == 25:
                prometheus.kill()
            yield each

    with pytest.raises(RemoteWriteError, match=r"does not answer \(Connection refused\)") as error:
        writer(prometheus, batch=100, patience=0.1).write(killing())
    # Batches are filled before they are sent: of the first 25 series the last is still at hand.
    assert error.value.written == Written(sent=1200)
    prometheus.start()
    assert prometheus.count() == 1200
    assert writer(prometheus, batch=100).write(series) == Written(sent=2000)
    assert_has(prometheus, series)


def test_it_comes_back_while_the_writer_is_patient(prometheus: Prometheus) -> None:
    series = make_series(10, 50)
    prometheus.kill()
    patient = writer(prometheus, sleep=lambda seconds: prometheus.start())
    assert patient.write(series) == Written(sent=500)
    assert_has(prometheus, series)


def test_a_server_that_stands_still_is_not_waited_for_long(prometheus: Prometheus) -> None:
    series = make_series(10, 50)
    prometheus.freeze()
    with pytest.raises(
        RemoteWriteError,
        match=r"did not answer within 0.2 s; check that",
    ):
        writer(prometheus, timeout=0.2, patience=0.3).write(series)
    prometheus.thaw()
    # What it had not answered to it may have taken meanwhile.
    assert writer(prometheus).write(series) == Written(sent=500)
    assert_has(prometheus, series)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a disk that is full has to be mounted, which takes root")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_full_disk_is_reported_and_the_rest_is_taken_later(
    small_disk: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "prometheus"
    folder.mkdir()
    server = Prometheus(folder)
    server.data = small_disk / "data"
    server.start()
    try:
        taken = make_series(20, 50)
        writer(server).write(taken)
        ballast = small_disk / "ballast"
        with pytest.raises(OSError, match="No space left"):
            fill(ballast)
        more = make_series(200, 50, first=20)
        with pytest.raises(RemoteWriteError, match="no space left on device") as error:
            writer(server, patience=0.1).write(more)
        assert "free some space there and restart it" in str(error.value)
        assert error.value.written == Written()
        ballast.unlink()
        server.stop()
        server.start()
        assert writer(server).write(more) == Written(sent=10_000)
        server.kill()
        server.start()
        assert_has(server, [*taken, *more])
    finally:
        server.kill()


def fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
