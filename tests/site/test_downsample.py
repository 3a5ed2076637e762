"""Thinned lines: how many points, which ones, and that no peak and no dip is lost."""

from __future__ import annotations

import random

import pytest

from pipeline.site.downsample import thin


def line(*values: float) -> list[tuple[float, float]]:
    return [(float(at), value) for at, value in enumerate(values, start=1)]


def test_few_points_stay_as_they_are() -> None:
    points = line(3.0, 1.0, 4.0, 2.0)
    assert thin(points, 10) == points
    assert thin([], 10) == []
    assert thin(points[:1], 10) == points[:1]


def test_level_stretches_keep_their_ends() -> None:
    assert thin(line(0.0, 0.0, 0.0, 5.0, 5.0, 0.0, 0.0), 100) == [
        (1.0, 0.0),
        (3.0, 0.0),
        (4.0, 5.0),
        (5.0, 5.0),
        (6.0, 0.0),
        (7.0, 0.0),
    ]


def test_a_single_dip_and_a_single_peak_survive() -> None:
    drawn = random.Random(3)
    points = line(*(1000 * drawn.gauss(1, 0.01) for _ in range(3600)))
    points[1234] = (1235.0, 3.0)
    points[2345] = (2346.0, 4000.0)
    kept = thin(points, 200)
    assert points[1234] in kept
    assert points[2345] in kept
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]


@pytest.mark.parametrize("most", [4, 5, 50, 51, 999])
@pytest.mark.parametrize("count", [5, 100, 3600])
def test_as_many_as_asked_for_in_order_and_none_made_up(most: int, count: int) -> None:
    drawn = random.Random(count)
    points = line(*(drawn.random() for _ in range(count)))
    kept = thin(points, most)
    assert len(kept) <= most
    assert [at for at, _ in kept] == sorted(at for at, _ in kept)
    assert all(point in points for point in kept)
    assert min(value for _, value in kept[1:-1]) == min(value for _, value in points[1:-1])
