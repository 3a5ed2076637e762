"""The schedule and the sampler, on a clock that only moves when it is waited for."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.model import FieldKind, SampledField
from pipeline.probes.sampler import EARLY, Sampler, SamplerThread, schedule


@pytest.mark.parametrize(
    ("seconds", "moments"),
    [
        (0.0, [0.0]),
        (0.02, [0.0]),
        (0.5, [0.0, 0.47]),
        (1.0, [0.0, 0.97]),
        # The whole second 1.0 would be a blink before the last sample.
        (1.05, [0.0, 1.02]),
        (1.5, [0.0, 1.0, 1.47]),
        (3.0, [0.0, 1.0, 2.0, 2.97]),
    ],
)
def test_samples_are_a_second_apart_and_end_just_before_the_step(
    seconds: float, moments: list[float]
) -> None:
    assert schedule(seconds, interval=1.0, early=0.03) == pytest.approx(moments)


@given(st.floats(min_value=0, max_value=2000))
def test_every_schedule_rises_from_the_start_to_just_before_the_end(seconds: float) -> None:
    moments = schedule(seconds)
    assert moments[0] == 0.0
    assert moments[-1] == pytest.approx(max(seconds - EARLY, 0.0))
    gaps = [b - a for a, b in pairwise(moments)]
    assert all(0 < gap <= 1.0 + EARLY + 1e-9 for gap in gaps)


class Clock:
    """Time that passes by waiting, and a little by every reading of a probe."""

    def __init__(self, reading_takes: float = 0.0) -> None:
        self.now = 1000.0
        self.waits: list[float] = []
        self._reading_takes = reading_takes

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.now += seconds
        return False

    def read(self) -> None:
        self.now += self._reading_takes


class Watch:
    """A probe that reads the clock."""

    name = "watch"
    help = "for tests"
    fields: tuple[SampledField, ...] = (SampledField("now", FieldKind.COUNTER, "s"),)

    def __init__(self, clock: Clock, field: str = "now") -> None:
        self._clock, self._field = clock, field

    def read(self) -> dict[str, float]:
        value = self._clock.now
        self._clock.read()
        return {self._field: value}


def test_every_probe_is_read_at_every_moment() -> None:
    clock = Clock()
    sampler = Sampler([Watch(clock, "a"), Watch(clock, "b")], clock, clock.wait)
    sampler.run(3.0)
    assert [at for at, _ in sampler.samples] == pytest.approx([0.0, 1.0, 2.0, 3.0 - EARLY])
    assert [dict(values) for _, values in sampler.samples][1] == {"a": 1001.0, "b": 1001.0}


def test_slow_readings_do_not_shift_the_schedule() -> None:
    clock = Clock(reading_takes=0.3)
    sampler = Sampler([Watch(clock)], clock, clock.wait)
    sampler.run(4.0)
    # The last reading would end after the step.
    assert [at for at, _ in sampler.samples] == pytest.approx([0.15, 1.15, 2.15, 3.15])


def test_a_sample_is_of_the_middle_of_its_reading() -> None:
    clock = Clock(reading_takes=0.02)
    sampler = Sampler([Watch(clock)], clock, clock.wait)
    sampler.run(2.0)
    assert [at for at, _ in sampler.samples] == pytest.approx([0.01, 1.01, 1.91])


def test_a_reading_longer_than_a_second_is_followed_at_once() -> None:
    clock = Clock(reading_takes=1.5)
    sampler = Sampler([Watch(clock)], clock, clock.wait)
    sampler.run(3.0)
    assert min(clock.waits) == 0.0
    assert [at for at, _ in sampler.samples] == pytest.approx([0.75, 2.25])


def test_a_reading_during_which_the_step_ended_is_no_sample() -> None:
    """Its counters would be those of a server that had ended, over time that had passed."""
    clock = Clock()

    class Ending(Watch):
        def read(self) -> dict[str, float]:
            if clock.now >= 1001.0:
                sampler.stop()
            return super().read()

    sampler = Sampler([Ending(clock)], clock, clock.wait)
    sampler.run(10.0)
    assert [at for at, _ in sampler.samples] == [0.0]


def test_stopping_ends_the_sampling() -> None:
    clock = Clock()

    def wait(seconds: float) -> bool:
        return clock.wait(seconds) or len(sampler.samples) == 2

    sampler = Sampler([Watch(clock)], clock, wait)
    sampler.run(100.0)
    assert len(sampler.samples) == 2


def test_the_thread_samples_once_however_often_it_is_started() -> None:
    clock = Clock()
    thread = SamplerThread(Sampler([Watch(clock)], clock, clock.wait))
    thread.start(2.0)
    thread.start(2.0)
    samples = thread.finish()
    assert 0 < len(samples) <= 3
    assert thread.finish() == samples


def test_a_thread_that_was_never_started_has_no_samples() -> None:
    assert SamplerThread(Sampler([])).finish() == []


def test_finishing_does_not_wait_for_the_schedule() -> None:
    """An hour of sampling was asked for; that this returns is what is tested."""
    thread = SamplerThread(Sampler([]))
    thread.start(3600.0)
    thread.finish()
