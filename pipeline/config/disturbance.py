"""What disturbs a measurement, and how often it is repeated then."""

from __future__ import annotations

from pipeline.config.base import Section
from pipeline.machine.disturbance.base import Limits


class DisturbanceSection(Limits, Section):
    """How much may disturb a step, and how often one that was disturbed is measured again."""
