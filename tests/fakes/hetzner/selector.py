"""Labels, and the selectors that listings are narrowed by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_KEY = re.compile(rf"(?:[a-z0-9.-]{{1,253}}/)?{_PART}")
_VALUE = re.compile(rf"(?:{_PART})?")
_SET = re.compile(r"(\S+)\s+(not)?in\s+\(([^)]*)\)")
_BETWEEN = re.compile(r",(?![^(]*\))")


def valid(labels: Any) -> bool:
    """Tell whether these can be the labels of a resource."""
    return isinstance(labels, dict) and all(
        isinstance(value, str) and _KEY.fullmatch(key) and _VALUE.fullmatch(value)
        for key, value in labels.items()
    )


def matches(selector: str, labels: Mapping[str, str]) -> bool:
    """Tell whether labels are what a selector asks for; all of its parts must hold."""
    return all(_holds(part.strip(), labels) for part in _BETWEEN.split(selector) if part.strip())


def _holds(part: str, labels: Mapping[str, str]) -> bool:
    if found := _SET.fullmatch(part):
        within = labels.get(found[1]) in [each.strip() for each in found[3].split(",")]
        return within == (found[2] is None)
    if "!=" in part:
        key, _, value = part.partition("!=")
        return labels.get(key.strip()) != value.strip()
    if "=" in part:
        key, _, value = part.replace("==", "=").partition("=")
        return labels.get(key.strip()) == value.strip()
    if part.startswith("!"):
        return part[1:] not in labels
    return part in labels
