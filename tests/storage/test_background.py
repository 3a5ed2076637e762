"""Work beside the measured one: its rates, and the SLA that they are."""

from __future__ import annotations

import pytest

from pipeline.model import Background, StepOutput
from pipeline.storage.derive.background import SUSTAINED, missed_rates
from pipeline.storage.ingest import measurements


def output(**background: Background) -> StepOutput:
    return StepOutput(operations=1000, seconds=10, background=background)


def test_the_least_sustained_rate_is_the_sla() -> None:
    of = output(
        inserts=Background(achieved=99, target=100), deletes=Background(achieved=50, target=100)
    )
    values = measurements(of, [])
    assert values["inserts/s"] == 99
    assert values["deletes/s"] == 50
    assert values["sla"] == 0.5
    assert missed_rates(of) == "50 of 100 deletes/s"


@pytest.mark.parametrize(("achieved", "missed"), [(SUSTAINED * 100, False), (94.9, True)])
def test_a_rate_is_sustained_from_95_percent_on(achieved: float, missed: bool) -> None:
    assert bool(missed_rates(output(inserts=Background(achieved=achieved, target=100)))) is missed


def test_a_rate_without_a_target_cannot_be_missed() -> None:
    of = output(deletes=Background(achieved=1))
    assert missed_rates(of) == ""
    assert "sla" not in measurements(of, [])


def test_a_familys_own_figures_are_metrics() -> None:
    of = StepOutput(operations=10, seconds=1, figures={"nopm": 270.0})
    assert measurements(of, [])["nopm"] == 270.0
