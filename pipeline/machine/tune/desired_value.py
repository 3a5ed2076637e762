"""What a setting of ``[tune]`` means on a machine: a value to set, or why there is none."""

from __future__ import annotations

from typing import NamedTuple


class DesiredValue(NamedTuple):
    """A value that tuning should give to a kernel setting."""

    setting: str
    knob: str
    value: str


class UnavailableSetting(NamedTuple):
    """Why a setting of ``[tune]`` cannot be applied to this machine."""

    setting: str
    why: str


KnobRequest = DesiredValue | UnavailableSetting
