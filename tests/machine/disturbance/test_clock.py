from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.machine.disturbance.base import ClockReading
from pipeline.machine.disturbance.clock import moment, watch_clock
from tests.machine.disturbance.trees import reported

BEGIN = ClockReading(realtime=1000.0, monotonic=10.0, boottime=20.0)


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (ClockReading(1005.0, 15.0, 25.0), ""),
        (ClockReading(1005.05, 15.0, 25.0), ""),
        (ClockReading(1006.5, 15.0, 25.0), "the time of day was changed by +1.5 s"),
        (ClockReading(997.0, 15.0, 25.0), "the time of day was changed by -8.0 s"),
        (ClockReading(1065.0, 15.0, 85.0), "the machine was suspended for 60.0 s"),
    ],
    ids=["evenly", "slewed", "forward", "back", "suspended"],
)
def test_clocks_that_go_apart(tmp_path: Path, end: ClockReading, said: str) -> None:
    assert reported(watch_clock, tmp_path, {}, {}, clocks=(BEGIN, end)) == said


def test_the_clocks_of_this_machine_go_on() -> None:
    first, second = moment(), moment()
    assert first.monotonic <= second.monotonic
    assert first.boottime <= second.boottime
    assert first.realtime > 1.7e9
