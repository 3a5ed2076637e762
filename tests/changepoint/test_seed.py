"""Every series has shuffles of its own, the same on every machine and in every unit."""

from __future__ import annotations

import struct
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from changepoint import detect
from changepoint.detection import energy
from changepoint.seed import own_seed

VALUES = np.array([3.0, 1.0, 2.0, 2.0, -7.5])


def test_the_seed_is_the_same_everywhere() -> None:
    order = crc32(struct.pack("<5q", 4, 1, 2, 3, 0))
    assert own_seed(0, VALUES) == order == 943981369
    assert own_seed(5, VALUES) == order ^ 5


@pytest.mark.parametrize("unit", [1e-300, 7.0, 1e290])
def test_the_unit_does_not_count(unit: float) -> None:
    assert own_seed(9, VALUES * unit) == own_seed(9, VALUES)
    assert own_seed(9, np.exp(VALUES)) == own_seed(9, VALUES)


def test_another_order_has_another_seed() -> None:
    random = np.random.default_rng(4)
    series = [random.permutation(30).astype(np.float64) for _ in range(200)]
    assert len({own_seed(0, values) for values in series}) == 200


def test_edivisive_shuffles_each_series_in_its_own_way(monkeypatch: Any) -> None:
    seeds = []
    tested = energy.permutation_pvalue

    def noting(*arguments: Any) -> float:
        seeds.append(arguments[-1])
        return tested(*arguments)

    monkeypatch.setattr(energy, "permutation_pvalue", noting)
    for seed in (1, 2):
        values = np.random.default_rng(seed).normal(100, 2, 20)
        for unit in (1.0, 8.0):
            detect(values * unit, method="edivisive", seed=3)
    assert seeds[0] == seeds[1] != seeds[2] == seeds[3]
