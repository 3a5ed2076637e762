"""What the probes say of a recorded step, beside what vmstat and pidstat said of its seconds."""

from __future__ import annotations

import pytest

from tests.probes.others import recorded

TOLERANCE = 0.03
"""The windows differ by the time that a program needs to start."""


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("postgres-point-query", "point-query_range=100"),
        ("postgres-update-index", "update-index_range=100"),
        ("mariadb-update-index", "update-index_range=100"),
    ],
)
def test_a_step_costs_what_others_see(name: str, step: str) -> None:
    ours, theirs = recorded(name, step)
    assert set(theirs) == {"cpu/o", "cs/o", "cpu_us/o", "client_us/o", "server_cs/o"}
    assert {metric: ours[metric] for metric in theirs} == pytest.approx(theirs, rel=TOLERANCE)
    # Of the load generator what is its own; the rest is the kernel's, whoever asks.
    assert 0 < ours["client_user_us/o"] < ours["client_us/o"]
