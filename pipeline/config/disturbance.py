"""The limits of disturbances, and the repetition of disturbed steps."""

from __future__ import annotations

from pipeline.config.base import Section
from pipeline.machine.disturbance.base import Limits


class DisturbanceSection(Limits, Section):
    """How much may disturb a step, and how often a disturbed step is repeated."""
