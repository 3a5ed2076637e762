"""Postgres: official releases, packed for tests and published on Maven Central."""

from pipeline.targets.postgres.target import Postgres

__all__ = ["Postgres"]
