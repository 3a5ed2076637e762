from __future__ import annotations

from dashboards.links import SETUP, STEP
from pipeline.notify.base import links


def test_notices_link_to_the_dashboard_of_a_step_by_its_variables() -> None:
    assert links.STEP_DASHBOARD == STEP
    assert (*SETUP, "step") == links.VARIABLES
