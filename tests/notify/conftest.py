from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.hook import Hook


@pytest.fixture
def hook() -> Iterator[Hook]:
    """A receiver of messages."""
    made = Hook()
    with made.serving():
        yield made
