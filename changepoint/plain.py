"""What JSON can hold: no infinity, which becomes a string, and no types of numpy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def plain(node: Any) -> Any:
    """A tree of dicts, lists and scalars as JSON can hold it: infinities as "inf" and "-inf".

    ``float()`` reads both strings back.
    """
    if isinstance(node, dict):
        return {key: plain(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [plain(value) for value in node]
    if isinstance(node, float) and math.isinf(node):
        return "inf" if node > 0 else "-inf"
    return node


def own(scalar: Any) -> Any:
    """A number or a string of numpy's as one of Python's; anything else as it is."""
    return scalar.item() if isinstance(scalar, np.generic) else scalar
