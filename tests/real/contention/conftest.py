"""The stores of the contention tests: SQLite, and a database of its own on a real PostgreSQL."""

from __future__ import annotations

from tests.storage.conftest import store_url

__all__ = ["store_url"]
