"""Who asks a lot is slowed down before Hetzner Cloud refuses anything."""

from __future__ import annotations

import pytest
import requests

from pipeline.fleet.rate_limit import Allowance
from tests.fleet.conftest import Scene


def heard(headers: dict[str, str]) -> Allowance:
    allowance, answer = Allowance(), requests.Response()
    answer.headers.update(headers)
    allowance.hear(answer)
    return allowance


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({}, 0.0),
        ({"RateLimit-Limit": "3600", "RateLimit-Remaining": "3599"}, 0.0),
        ({"RateLimit-Limit": "3600", "RateLimit-Remaining": "180"}, 0.0),
        ({"RateLimit-Limit": "3600", "RateLimit-Remaining": "179"}, 1.0),
        ({"ratelimit-limit": "7200", "ratelimit-remaining": "0"}, 0.5),
        ({"RateLimit-Limit": "0", "RateLimit-Remaining": "0"}, 0.0),
        ({"RateLimit-Limit": "many", "RateLimit-Remaining": "0"}, 0.0),
        ({"RateLimit-Limit": "3600"}, 0.0),
    ],
)
def test_a_pause_is_as_long_as_one_request_takes_to_come_back(
    headers: dict[str, str], pause: float
) -> None:
    assert heard(headers).pause == pause


def test_an_allowance_that_runs_out_is_never_overdrawn(scene: Scene) -> None:
    scene.fake.allowance.remaining = 190.0
    began, cloud = scene.time.at, scene.cloud()
    for _ in range(400):
        cloud.pricing()
    assert len(scene.fake.asked) == 400, "none was refused and asked again"
    assert scene.time.at - began == pytest.approx(400 - 190 + 180, abs=5)
    assert not scene.reported


def test_what_others_used_up_is_waited_for(scene: Scene) -> None:
    scene.fake.allowance.remaining = 0.0
    scene.cloud().pricing()
    assert scene.reported == [
        "Hetzner Cloud: limit of requests reached (rate_limit_exceeded); trying again"
    ]
