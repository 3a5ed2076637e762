"""Use cases are prepared by verbs: the fixtures of the command line's tests."""

from __future__ import annotations

from tests.cli.conftest import folder, night, nightshift

__all__ = ["folder", "night", "nightshift"]
