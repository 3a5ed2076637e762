"""The sites of tests/report/site, and a browser to open them in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.site.browser import Browser, started
from tests.site.conftest import counted, hostile, inserts, night

__all__ = ["browser", "counted", "hostile", "inserts", "night"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started(tmp_path_factory.mktemp("profile")) as running:
        yield running
