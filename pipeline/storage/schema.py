"""The tables of the store, as SQLAlchemy definitions.

All content is derived from the bundles and can be rebuilt from them. Rows that many runs share
(builds, configurations, machines, workloads, settings) are stored once, by their hash.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Column,
    Date,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

NEWEST = "0010"
"""The revision of this schema: that of the last file in migrations/versions."""


class UtcDateTime(TypeDecorator[datetime]):
    """A column type for a time in UTC, because SQLite drops the time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a time of any time zone to UTC before it is written."""
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Add the time zone UTC to a time that was read."""
        if value is None or value.tzinfo is not None:
            return value
        return value.replace(tzinfo=UTC)


def read_time(value: Any) -> datetime | None:
    """Convert a value of the database driver to a time; SQLite returns UTC as text without zone."""
    return datetime.fromisoformat(f"{value}+00:00") if isinstance(value, str) else value


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _shared(name: str, *columns: Column[object]) -> Table:
    """Define a table whose rows many runs share, identified by a hash of their content."""
    return Table(
        name,
        metadata,
        Column("id", Integer, primary_key=True),
        Column("hash", String(64), nullable=False, unique=True),
        *columns,
    )


build = _shared(
    "build",
    Column("target", String, nullable=False),
    Column("version", String, nullable=False),
    Column("options", String, nullable=False),
    Column("program_hash", String(64), nullable=False),
    Column("provenance", JSON, nullable=False),
)

config = _shared(
    "config",
    Column("family", String, nullable=False),
    Column("name", String, nullable=False),
    Column("text", Text, nullable=False),
)

machine = _shared(
    "machine",
    Column("machine_class", String, nullable=False),
    Column("fingerprint", JSON, nullable=False),
)

workload = _shared(
    "workload",
    Column("family", String, nullable=False),
    Column("name", String, nullable=False),
    Column("version", String, nullable=False),
    Column("clients", Integer, nullable=False),
    Column("mode", String),
    Column("definition", JSON, nullable=False),
)

settings = _shared("settings", Column("variables", JSON, nullable=False))

run = Table(
    "run",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", String, nullable=False, unique=True),
    Column("bundle_sha256", String(64), nullable=False),
    Column("origin", String, nullable=False),
    Column("cell_key", String(64), nullable=False),
    Column("repetition", Integer, nullable=False),
    Column("target", String, nullable=False),
    Column("revision", String, nullable=False),
    Column("revision_order", JSON, nullable=False),
    Column("line", String),
    Column("pinning", JSON, nullable=False),
    Column("tools", JSON, nullable=False),
    Column("build_id", ForeignKey("build.id"), nullable=False),
    Column("config_id", ForeignKey("config.id"), nullable=False),
    Column("machine_id", ForeignKey("machine.id"), nullable=False),
    Column("workload_id", ForeignKey("workload.id"), nullable=False),
    Column("settings_id", ForeignKey("settings.id")),
    Column("started_at", UtcDateTime(), nullable=False),
    Column("ended_at", UtcDateTime(), nullable=False),
    Column("revision_at", UtcDateTime()),
    Column("digest", String(64)),
    Column("control", String),
    Column("control_night", Date),
    Index("ix_run_cell_key_repetition", "cell_key", "repetition"),
)

step = Table(
    "step",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False),
    Column("group", String, nullable=False),
    Column("unit", String, nullable=False),
    UniqueConstraint("name", "group", "unit"),
)

metric = Table(
    "metric",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
)

step_run = Table(
    "step_run",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run", ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
    Column("step", ForeignKey("step.id"), nullable=False),
    Column("place", Integer, nullable=False),
    Column("status", String, nullable=False),
    Column("note", Text, nullable=False),
    Column("timeline", JSON, nullable=False),
    Column("marks", JSON),
    Column("activity", JSON),
    Column("activity_mean", JSON),
    Column("histogram", JSON),
    Column("disturbed", JSON(none_as_null=True)),
    UniqueConstraint("run", "step", "place"),
)

measurement = Table(
    "measurement",
    metadata,
    Column("step_run", ForeignKey("step_run.id", ondelete="CASCADE"), primary_key=True),
    Column("metric", ForeignKey("metric.id"), primary_key=True),
    Column("value", Float, nullable=False),
    sqlite_with_rowid=False,
)

function = Table(
    "function",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False),
    Column("binary", String, nullable=False),
    UniqueConstraint("name", "binary"),
)

function_cost = Table(
    "function_cost",
    metadata,
    Column("step_run", ForeignKey("step_run.id", ondelete="CASCADE"), primary_key=True),
    Column("function", ForeignKey("function.id"), primary_key=True),
    Column("self_cost", Float, nullable=False),
    Column("inclusive_cost", Float, nullable=False),
    sqlite_with_rowid=False,
)
