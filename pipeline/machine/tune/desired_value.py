"""The result of a setting on a machine: a value for a knob, or the reason why there is none."""

from __future__ import annotations

from typing import NamedTuple


class DesiredValue(NamedTuple):
    """The value that a knob should have, and the setting that requests it."""

    setting: str
    knob: str
    value: str


class UnavailableSetting(NamedTuple):
    """Why a setting is not available on this machine."""

    setting: str
    why: str


KnobRequest = DesiredValue | UnavailableSetting
