"""The configurations of Postgres: files in configs/<family>/<major>.conf, scaled.

A family keeps one intent over all majors, with what each major calls it; x10a is the one to
compare majors by. The files say why of every setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

from pipeline.errors import UserError
from pipeline.machine.fingerprint import memory_gb, scale_name
from pipeline.model import Machine, Revision, ServerConfig

SUFFIX = ".conf"


def families() -> Mapping[str, tuple[str, ...]]:
    """Return the majors that each family has a file for, ascending."""
    return {
        family.name: tuple(
            sorted(
                (file.name.removesuffix(SUFFIX) for file in family.iterdir()),
                key=lambda major: [int(number) for number in major.split(".")],
            )
        )
        for family in sorted(_root().iterdir(), key=lambda entry: entry.name)
        if family.is_dir()
    }


def config(family: str, revision: Revision, machine: Machine) -> ServerConfig:
    """Return a family's configuration for a revision, scaled to a machine."""
    known = families()
    if family not in known:
        raise UserError(f"postgres has no config {family!r}; there is {', '.join(known)}")
    if revision.major not in known[family]:
        raise UserError(
            f"config {family} has no file for postgres {revision.major}; it has "
            f"{', '.join(known[family])}"
        )
    text = (_root() / family / f"{revision.major}{SUFFIX}").read_text(encoding="utf-8")
    return ServerConfig(
        family=family,
        name=f"{family}_{scale_name(machine.cores, machine.memory_bytes)}",
        text=text.format_map(scale(machine)),
    )


def scale(machine: Machine) -> Mapping[str, int]:
    """Return the values that depend on the machine, by the names the files use.

    - ``shared_buffers_mb``: 70 % of memory, so that what the page cache would hold is held
      by Postgres (the published files: 23 GB of 32);
    - ``max_wal_size_mb``: 125 % of memory, at least 4 GB and at most 64 GB (40 GB for 32), so
      that no checkpoint starts because of it;
    - ``min_wal_size_mb``: half of that, kept for reuse;
    - ``autovacuum_work_mem_mb``: 256 MB, less where memory is less than 32 GB.
    """
    gb = memory_gb(machine.memory_bytes)
    max_wal = min(max(gb * 1280, 4096), 65536)
    return {
        "shared_buffers_mb": max(128, gb * 1024 * 7 // 10),
        "max_wal_size_mb": max_wal,
        "min_wal_size_mb": max_wal // 2,
        "autovacuum_work_mem_mb": min(256, max(64, gb * 8)),
    }


def _root() -> Traversable:
    return files("pipeline.targets.postgres") / "configs"
