"""Rows of controls as tables."""

from __future__ import annotations

import numpy as np

from pipeline.environment.panel import panels
from tests.environment import fleet_simulation


def test_a_disturbed_control_counts_only_where_the_other_of_the_night_was_disturbed() -> None:
    rows = fleet_simulation.measure(fleet_simulation.draw(1, events=False), 1, nights=3).controls
    nights = sorted({row.night for row in rows})
    first = [row._replace(disturbed=row.night == nights[0] and row.repetition == 2) for row in rows]
    values = panels(first)[0].values
    assert np.isnan(values[:, 0, 1]).all()
    assert np.isfinite(values[:, 0, 0]).all()
    both = [row._replace(disturbed=row.night == nights[0]) for row in rows]
    assert np.isfinite(panels(both)[0].values).all()
