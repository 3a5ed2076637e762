"""What a setting asks of a machine: a value of a knob, or something that it lacks."""

from __future__ import annotations

from typing import NamedTuple


class Wish(NamedTuple):
    """The value that a knob is to have, because of a setting."""

    setting: str
    knob: str
    value: str


class Lacking(NamedTuple):
    """Why a setting cannot be had on this machine."""

    setting: str
    why: str


Asked = Wish | Lacking
