"""The supported DBMSs, by name."""

from __future__ import annotations

from pipeline.model.registry import AdapterRegistry
from pipeline.targets.base import Target
from pipeline.text.errors import did_you_mean

TARGETS: AdapterRegistry[Target] = AdapterRegistry(
    {
        "postgres": "pipeline.targets.postgres:Postgres",
        "mysql": "pipeline.targets.mysql:MySQL",
        "mariadb": "pipeline.targets.mariadb:MariaDB",
        "rocksdb": "pipeline.targets.rocksdb:RocksDB",
        "sqlite": "pipeline.targets.sqlite:SQLite",
    },
    lambda target: target(),
)
"""The targets; this is the only place where a new one is registered."""


def find_target(name: str) -> Target:
    """Return a target by name. Raises KeyError with an error message for an unknown one."""
    if name not in TARGETS:
        raise KeyError(f"there is no target {name!r}; {did_you_mean(name, TARGETS)}")
    return TARGETS[name]
