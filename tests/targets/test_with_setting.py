"""A setting put back to a value that a server reported: real servers report it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pipeline.machine.account import Account
from pipeline.model import Build, Machine, Revision, ServerConfig
from pipeline.targets import find_target
from pipeline.targets.base import Placement
from pipeline.targets.base.configurations import NotASettingError
from tests.conftest import Release
from tests.ports import free_port

WANTED: Mapping[tuple[str, str, str], Mapping[str, str | None]] = {
    ("postgres", "17", "x10a"): {
        # A unit of the page's size, a text with commas, one with a quote.
        "shared_buffers": "2048 8kB",
        "DateStyle": "ISO, DMY",
        "log_line_prefix": "it's %m ",
        "wal_compression": "pglz",
        "random_page_cost": "1.5",
        "search_path": "",
    },
    ("mariadb", "11.4", "small"): {
        "innodb_flush_log_at_trx_commit": "1",
        "join_buffer_size": "131072",
        "optimizer_switch": None,
        "init_connect": 'SET @a = "#1"',
    },
    ("mysql", "9", "small"): {"innodb_adaptive_hash_index": "ON", "sort_buffer_size": "524288"},
    ("rocksdb", "9.10", "byrx"): {
        "CFOptions.write_buffer_size": "33554432",
        "CFOptions.compaction_pri": "kByCompensatedSize",
        "DBOptions.max_background_jobs": "5",
    },
}


def checked(
    target: str,
    family: str,
    build: Build,
    revision: Revision,
    wanted: Mapping[str, str | None],
    folder: Path,
    account: Account,
    machine: Machine,
) -> None:
    """Start a server with every value set, and compare what it reports.

    None is the value that the server has anyway: it takes what it said itself.
    """
    made = find_target(target)
    made.template(build, folder / "template", account)
    small = machine.model_copy(update={"memory_bytes": 2**30})
    config = made.config(family, revision, small)

    def settings(config: ServerConfig, name: str) -> Mapping[str, str]:
        placement = Placement(
            folder=folder / name, port=free_port(), processors=(), account=account
        )
        server = made.start(build, config, folder / "template", placement)
        try:
            return server.settings()
        finally:
            server.stop()

    before = settings(config, "before")
    values = {name: before[name] if value is None else value for name, value in wanted.items()}
    assert {name: before[name] for name in values} != values
    for name, value in values.items():
        config = made.with_setting(config, name, value)
    after = settings(config, "after")
    assert {name: after[name] for name in values} == values


@pytest.mark.parametrize(("target", "major", "family"), WANTED)
def test_a_server_takes_the_values_that_another_reported(
    target: str,
    major: str,
    family: str,
    releases_of: Callable[[str, str], Release],
    server_folder: Path,
    account: Account,
    machine: Machine,
) -> None:
    release = releases_of(target, major)
    wanted = WANTED[target, major, family]
    checked(
        target, family, release.build, release.revision, wanted, server_folder, account, machine
    )


def test_sqlite_takes_the_values_that_another_reported(
    sqlite_builds: Callable[[str], Build], server_folder: Path, account: Account, machine: Machine
) -> None:
    revision = Revision(target="sqlite", version="3.46.0", order=(3, 46, 0), major="3.46")
    wanted = {
        "page_size": "8192",
        "synchronous": "2",
        "cache_size": "-4000",
        "automatic_index": "0",
        "encoding": "UTF-16le",
    }
    build = sqlite_builds("3.46.0")
    checked("sqlite", "wal", build, revision, wanted, server_folder, account, machine)


@pytest.mark.parametrize(
    ("target", "name", "value"),
    [
        ("postgres", "pg_config.CFLAGS", "-O2"),
        ("postgres", "log_line_prefix", "a\nb"),
        ("mysql", "init_connect", "a\nb"),
        ("sqlite", "version", "3.46.0"),
        ("sqlite", "compiled.THREADSAFE", "1"),
        ("sqlite", "cache_size", "1; DROP TABLE sbtest1"),
        ("rocksdb", "CFOptions.compression_opts", "{level=3;}"),
    ],
)
def test_what_is_no_setting_is_refused(target: str, name: str, value: str) -> None:
    config = ServerConfig(family="f", name="f", text="\n")
    with pytest.raises(NotASettingError):
        find_target(target).with_setting(config, name, value)
