"""SQLite: a library, compiled from source code, that runs inside the load generator."""

from pipeline.targets.sqlite.target import SQLite

__all__ = ["SQLite"]
