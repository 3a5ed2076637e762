"""The verbs in a folder of their own, as the tests of the command line have them."""

from __future__ import annotations

from tests.cli.conftest import folder, nightshift

__all__ = ["folder", "nightshift"]
