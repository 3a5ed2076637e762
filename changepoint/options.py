"""The options of ``detect``, for whoever hands them on."""

from __future__ import annotations

import inspect
from types import MappingProxyType
from typing import Any, TypedDict

from changepoint.api import detect
from changepoint.model import Direction
from changepoint.plain import own


class Options(TypedDict, total=False):
    """Keyword arguments of :func:`changepoint.detect`, except ``positions``; it documents them.

    What is left out has the default that ``detect`` has.
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
    """All options, defaults included, of types that JSON can hold.

    Raises:
        ValueError: one is out of range, as ``detect`` says it.
    """
    complete = {name: own(option) for name, option in {**DEFAULTS, **options}.items()}
    detect([], **complete)
    return complete
