"""Options of InnoDB that take effect only when a database is created: the layout of its files."""

from __future__ import annotations

from pipeline.model import ServerConfig
from pipeline.targets.base.configurations import option

_INITIAL = ("innodb_data_file_path", "innodb_undo_tablespaces")


def initial_options(config: ServerConfig) -> tuple[str, ...]:
    """Return those of these options that a configuration sets, as arguments of the server."""
    found = {name: option(config, name) for name in _INITIAL}
    return tuple(f"--{name}={value}" for name, value in found.items() if value is not None)
