"""How long publishing takes: a backfill by remote write and by blocks, a night, and a dashboard.

Makes ``--series`` series of ``--revisions`` values each over three years, with the labels that
published series have, and for each of the two ways

- writes them all into an empty, real Prometheus,
- writes one more night: a value of every series, now,
- asks what dashboards ask: a panel of 40 steps over three years, its ratio to another, and the
  newest value of every series, each the median of repeated queries; then all of it again after
  Prometheus was started anew.

Counts what Prometheus has against what was written. Making the values is not counted. Needs
Debian's prometheus (``tools/setup test`` unpacks it); nothing listens beyond loopback and all is
removed at the end.

    python benchmarks/publish.py --series 2000 --revisions 500

``--flag`` hands further flags on to Prometheus.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pipeline.publish.blocks import write_blocks
from pipeline.publish.remote import RemoteWriter
from pipeline.publish.samples import Labels, TimedValue, TimeSeries, labelled
from tests.prometheus import Prometheus

STEPS = 40
DAY = 86_400_000
YEARS = 3 * 365
REPEATS = 5


def main() -> None:
    """Parse the options and print the figures of both ways."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=2000)
    parser.add_argument("--revisions", type=int, default=500)
    parser.add_argument("--way", choices=("remote write", "blocks"), action="append")
    parser.add_argument("--flag", action="append", default=[])
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    series = make_series(options.series, options.revisions)
    for way in options.way or ("remote write", "blocks"):
        with tempfile.TemporaryDirectory(prefix="nightshift-publish-") as folder:
            measure(way, series, Path(folder), tuple(options.flag))


def make_series(count: int, revisions: int) -> list[TimeSeries]:
    """Make series of 40 steps and as many metrics as it takes, that end an hour ago."""
    random.seed(1)
    newest = round(time.time() * 1000) - 3_600_000
    moments = [newest - place * YEARS * DAY // revisions for place in reversed(range(revisions))]
    return [
        TimeSeries(
            _labels(*divmod(n, STEPS)), [TimedValue(at, random.gauss(1e4)) for at in moments]
        )
        for n in range(count)
    ]


def _labels(metric: int, step: int) -> Labels:
    return labelled(
        f"nightshift_revision_metric_{metric}",
        line="postgres-17",
        target="postgres",
        config="x10a_c8r32",
        build_options="release",
        machine_class="ax162-s",
        workload="sysbench",
        workload_version="3",
        clients=1,
        step=f"range-notcovered-pk_range={step}",
        group="range",
    )


def measure(way: str, series: list[TimeSeries], folder: Path, flags: tuple[str, ...]) -> None:
    """Fill an empty Prometheus one way and ask it."""
    samples = sum(len(each.samples) for each in series)
    server = Prometheus(folder, flags=flags)
    server.start()
    try:
        began = time.perf_counter()
        if way == "blocks":
            made = write_blocks(series, server.data).blocks
            print(f"\n{samples:,} samples by {way} ({made}): {_since(began)}")
            # It looks for new blocks once a minute.
            while not server.query(f"last_over_time({_name(series)}[30d])"):
                time.sleep(0.1)
            print(f"  taken up by the running server after {_since(began)}")
        else:
            writer = RemoteWriter(server.write_url)
            # As every publishing begins; all that follows is then out of order.
            writer.write([TimeSeries(labelled("up"), [TimedValue(round(time.time() * 1000), 1.0)])])
            assert writer.write(series).sent == samples
            print(f"\n{samples:,} samples by {way}: {_since(began)}")
        assert _count(server, series) == samples
        ask(server, series, "running")
        now = round(time.time() * 1000)
        night = [TimeSeries(each.labels, [TimedValue(now, 1.0)]) for each in series]
        began = time.perf_counter()
        assert RemoteWriter(server.write_url).write(night).sent == len(series)
        print(f"  a night of {len(series):,} samples: {_since(began)}")
        server.kill()
        began = time.perf_counter()
        server.start()
        print(f"  started anew after kill -9: {_since(began)}, {_size(folder):.0f} MB on disk")
        assert _count(server, series) == samples + len(series)
        ask(server, series, "started anew")
    finally:
        server.kill()


def ask(server: Prometheus, series: list[TimeSeries], when: str) -> None:
    """Print how long the queries of dashboards take."""
    now = time.time()
    panel = f"last_over_time({_name(series)}[30d])"
    other = f"last_over_time({_name(series, -1)}[30d])"
    begin, step = now - YEARS * DAY / 1000, DAY / 1000
    queries: dict[str, Callable[[], object]] = {
        "40 steps over 3 years, a point a day": lambda: server.query_range(panel, begin, now, step),
        "their ratio to another metric": lambda: server.query_range(
            f"{panel} / on(step) {other}", begin, now, step
        ),
        "the newest value of every series": lambda: server.query(
            'last_over_time({__name__=~"nightshift_.+"}[30d])', now
        ),
    }
    for name, query in queries.items():
        seconds = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            assert query()
            seconds.append(time.perf_counter() - began)
        print(f"  {when}, {name}: {statistics.median(seconds):.2f} s (most {max(seconds):.2f})")


def _name(series: list[TimeSeries], place: int = 0) -> str:
    return dict(series[place].labels)["__name__"]


def _count(server: Prometheus, series: list[TimeSeries]) -> int:
    names = {_name(series, place) for place in range(len(series))}
    counts = (server.query(f"sum(count_over_time({name}[10y]))") for name in names)
    return int(sum(count.get((), 0) for count in counts))


def _size(folder: Path) -> float:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*")) / 1e6


def _since(began: float) -> str:
    return f"{time.perf_counter() - began:.2f} s"


if __name__ == "__main__":
    main()
