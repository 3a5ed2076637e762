"""Postgres: releases of Maven Central, Debian's source packages, and source code."""

from pipeline.targets.postgres.target import Postgres

__all__ = ["Postgres"]
