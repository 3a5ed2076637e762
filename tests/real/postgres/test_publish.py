"""A real night, published to a real Prometheus that is not always there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import Release
from tests.nights import Night, make_night
from tests.prometheus import Prometheus

RUNS = '{__name__=~"nightshift_run_.+"}'


@pytest.fixture
def night(tmp_path: Path, releases: Callable[[str], Release], prometheus: Prometheus) -> Night:
    """A night of two copies of one build, not measured yet, that is published."""
    version = releases("17").revision.version
    return make_night(
        tmp_path / "night",
        revisions=[version, f"{version}#2"],
        more=f'[publish]\nurl = "{prometheus.write_url}"\npatience = "60s"',
    )


@contextmanager
def impatient(night: Night) -> Iterator[None]:
    """Let what does not answer be given up soon."""
    config = night.folder / "nightshift.toml"
    text = config.read_text()
    config.write_text(text.replace('patience = "60s"', 'patience = "1s"'))
    yield
    config.write_text(text)


def test_a_night_without_its_prometheus_succeeds_and_is_published_later(
    night: Night, prometheus: Prometheus
) -> None:
    prometheus.kill()
    with impatient(night):
        done = night.run("nightly")
    assert "publishing was incomplete" in done.stderr
    assert "published the next time" in done.stderr
    assert "published" not in done.stdout
    assert "2 runs measured" in done.stdout
    prometheus.start()
    later = night.json("nightly")
    assert later["runs"] == 0
    assert later["published"]["refused"] == 0
    assert prometheus.count(RUNS) == len(night.rows()) > 0
    assert prometheus.count('nightshift_activity{activity="dead_tuples"}') == 4
    # The health of both nights, too.
    assert prometheus.count("nightshift_night_success") == 2
    again = night.run("publish")
    assert "published nothing new" in again.stdout
    assert prometheus.count(RUNS) == len(night.rows())


def test_a_frozen_receiver_is_reported_and_gets_the_rest_later(
    night: Night, prometheus: Prometheus
) -> None:
    night.run("nightly")
    published = prometheus.samples(RUNS)
    prometheus.freeze()
    try:
        with impatient(night):
            stuck = night.run("publish", "--rebuild", code=2)
    finally:
        prometheus.thaw()
    assert "did not answer within 1 s" in stuck.stderr
    assert len(stuck.stderr.splitlines()) == 1
    night.run("publish")
    assert prometheus.samples(RUNS) == published


def test_nowhere_to_publish_to_is_one_line(tmp_path: Path) -> None:
    night = make_night(tmp_path / "n", revisions=["17.1"])
    refused = night.run("publish", code=2)
    assert (
        "no Prometheus (or other receiver) to publish to is known; set [publish] url, give --url, "
        "or run `nightshift hub up`" in refused.stderr
    )
    assert len(refused.stderr.splitlines()) == 1
