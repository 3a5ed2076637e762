"""numba's compiler behind a typed decorator, with its disk cache where one can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile ``function`` to machine code at its first call and keep the code on disk.

    numba tries the package's ``__pycache__`` and then the user's cache directory, and raises
    when it can write neither (a read-only container): the code is then compiled per process.
    """
    try:
        return cast(F, numba.njit(cache=True)(function))
    except RuntimeError:
        return cast(F, numba.njit(function))
