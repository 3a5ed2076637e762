"""The order of the lane: real nights first."""

from __future__ import annotations

from pathlib import Path

import pytest

SMOKE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests: at the end of a run, they would keep one core alone busy."""
    items.sort(key=lambda item: not item.path.is_relative_to(SMOKE))
