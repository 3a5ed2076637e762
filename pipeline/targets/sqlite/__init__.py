"""SQLite, compiled from source code: a library that runs inside the load generator."""

from pipeline.targets.sqlite.target import SQLite

__all__ = ["SQLite"]
