"""Configurations with a published name have the published settings, and no others."""

from __future__ import annotations

import re

import pytest

from pipeline.machine.fingerprint import described
from pipeline.model import Revision
from pipeline.targets import find_target
from tests.targets.published_settings import PUBLISHED, comparable

OLDER_RELEASES = {
    # Before 8.0.30 the redo log had another name; later releases ignore it.
    ("mysql", "8.0"): {"innodb_log_files_in_group", "innodb_log_file_size"},
}
"""Settings for older releases of a series than the published one."""


def settings(target: str, name: str, major: str, cores: int, gb: int) -> dict[str, str]:
    order = tuple(map(int, major.split(".")))
    revision = Revision(target=target, version=f"{major}.1", order=order, major=major)
    text = find_target(target).config(name, revision, described("tested", cores, gb)).text
    lines = [line for line in text.splitlines() if line and line[0] not in "#["]
    found = [re.fullmatch(r"(?:loose_)?(\w+)(?: = (\S+))?", line) for line in lines]
    assert all(found), lines
    named = {match[1]: match[2] or "ON" for match in found if match}
    if named.get("log_bin"):
        # The published value is a path.
        named["log_bin"] = "ON"
    return named


@pytest.mark.parametrize(("target", "name", "major"), PUBLISHED)
def test_a_published_name_has_the_published_settings(target: str, name: str, major: str) -> None:
    found = settings(target, name, major, 8, 32)
    for older in OLDER_RELEASES.get((target, major), ()):
        del found[older]
    assert {name: comparable(name, value) for name, value in found.items()} == {
        name: comparable(name, value) for name, value in PUBLISHED[target, name, major].items()
    }


def test_every_configuration_of_a_server_is_published_or_named_otherwise() -> None:
    for target in ("postgres", "mysql", "mariadb"):
        for name in find_target(target).configs():
            assert name.startswith("small") or (target, name) in {
                (each, configuration) for each, configuration, _ in PUBLISHED
            }


@pytest.mark.parametrize(
    ("gb", "values"),
    [
        (2, ("1472MB", "2560MB", "1280MB", "16MB", "100ms", "4")),
        (24, ("17664MB", "30720MB", "15360MB", "192MB", "100ms", "4")),
        (64, ("48GB", "64GB", "32GB", "1024MB", "50ms", "8")),
        (128, ("96GB", "96GB", "48GB", "1024MB", "50ms", "8")),
        (256, ("192GB", "96GB", "48GB", "1024MB", "50ms", "8")),
    ],
)
def test_postgres_of_other_machines(gb: int, values: tuple[str, ...]) -> None:
    names = (
        "shared_buffers",
        "max_wal_size",
        "min_wal_size",
        "autovacuum_work_mem",
        "bgwriter_delay",
        "autovacuum_max_workers",
    )
    found = settings("postgres", "x10b", "18", 8, gb)
    assert {name: comparable(name, found[name]) for name in names} == {
        name: comparable(name, value) for name, value in zip(names, values, strict=True)
    }
    # Published for 18 on the larger machines only.
    assert ("vacuum_buffer_usage_limit" in found) == (gb >= 64)


@pytest.mark.parametrize(
    ("gb", "pool", "log", "threads"),
    [(2, "1024M", "1920M", "4"), (64, "45G", "50G", "8"), (128, "100G", "100G", "8")],
)
def test_innodb_of_other_machines(gb: int, pool: str, log: str, threads: str) -> None:
    found = settings("mysql", "z12a", "8.4", 8, gb)
    assert comparable("", found["innodb_buffer_pool_size"]) == comparable("", pool)
    assert comparable("", found["innodb_redo_log_capacity"]) == comparable("", log)
    assert {found[f"innodb_{kind}"] for kind in ("purge_threads", "page_cleaners")} == {threads}
    assert ("innodb_log_writer_threads" in found) == (gb < 64)
    old = settings("mysql", "z12a", "5.7", 8, gb)
    files = int(old["innodb_log_files_in_group"])
    size = comparable("", old["innodb_log_file_size"])
    assert files * int(size) == int(comparable("", log))


@pytest.mark.parametrize(
    ("name", "value", "plain"),
    [
        ("shared_buffers", "23GB", str(23 << 30)),
        ("shared_buffers", "3014656 8kB", str(23 << 30)),
        ("checkpoint_timeout", "30min", "1800000"),
        ("checkpoint_timeout", "1800 s", "1800000"),
        ("bgwriter_delay", "100 ms", "100"),
        ("jit", "off", "0"),
        ("innodb_buffer_pool_size", "23G", "24696061952"),
        ("innodb_buffer_pool_size", "24696061952", "24696061952"),
        ("long_query_time", "5.000000", "5"),
        ("sql_mode", "NO_UNSIGNED_SUBTRACTION,NO_ENGINE", "no_engine,no_unsigned_subtraction"),
        ("innodb_data_file_path", "ibdata1:512M:autoextend", "ibdata1:512m:autoextend"),
        ("io_method", "io_uring", "io_uring"),
    ],
)
def test_values_are_compared_in_one_spelling(name: str, value: str, plain: str) -> None:
    assert comparable(name, value) == plain
