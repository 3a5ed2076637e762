"""Conversion to types that JSON supports: infinities as strings, no numpy types."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def plain(node: Any) -> Any:
    """A tree of dicts, lists and scalars in JSON's types, with infinities as "inf" and "-inf".

    ``float()`` parses both strings.
    """
    if isinstance(node, dict):
        return {key: plain(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [plain(value) for value in node]
    if isinstance(node, float) and math.isinf(node):
        return "inf" if node > 0 else "-inf"
    return node


def own(scalar: Any) -> Any:
    """A numpy number or string as a Python one; anything else unchanged."""
    return scalar.item() if isinstance(scalar, np.generic) else scalar
