"""The verbs in a folder of their own, as the tests of the command line have them, and Otava."""

from __future__ import annotations

from tests.changepoint.test_hunter import otava
from tests.cli.conftest import folder, nightshift

__all__ = ["folder", "nightshift", "otava"]
