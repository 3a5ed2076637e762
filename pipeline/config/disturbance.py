"""The settings for disturbances: what else may use the machine while a step is measured."""

from __future__ import annotations

from pipeline.config.base import Section
from pipeline.machine.disturbance.base import Limits


class DisturbanceSection(Limits, Section):
    """The table ``[disturbance]``: limits of disturbances, and repetitions of disturbed steps."""
