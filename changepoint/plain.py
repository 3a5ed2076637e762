"""The JSON form of numbers that may be infinite: JSON has no infinity, so it is a string."""

from __future__ import annotations

import math
from typing import Any


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
