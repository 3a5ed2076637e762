"""Convert results to types that JSON has: no numpy types, infinities as text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def plain(node: Any) -> Any:
    """Return dicts, lists and numbers in JSON's types, infinities as "inf" and "-inf".

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
    """Convert a numpy number or text to the Python type; return anything else unchanged."""
    return scalar.item() if isinstance(scalar, np.generic) else scalar
