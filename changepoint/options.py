"""The options of ``detect``, for functions that pass them on."""

from __future__ import annotations

import inspect
from types import MappingProxyType
from typing import Any, TypedDict

from changepoint.api import detect
from changepoint.model import Direction
from changepoint.to_json import own


class Options(TypedDict, total=False):
    """Keyword arguments of :func:`changepoint.detect`, which documents them.

    Those that belong to one series, ``positions``, ``noise`` and ``autocorrelation``, are not among
    them. Missing options have the defaults of ``detect``.
    """

    alarms_per_1000: float
    min_effect: float
    direction: Direction | None
    method: str
    seed: int


DEFAULTS = MappingProxyType(
    {
        name: parameter.default
        for name, parameter in inspect.signature(detect).parameters.items()
        if name in Options.__annotations__
    }
)
"""The defaults of ``detect``."""


def checked(options: Options) -> dict[str, Any]:
    """Return all options with their defaults, as types that JSON has.

    Raises:
        ValueError: one is out of range, as in ``detect``.
    """
    complete = {name: own(option) for name, option in {**DEFAULTS, **options}.items()}
    detect([], **complete)
    return complete
