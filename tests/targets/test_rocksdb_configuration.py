"""The configurations of RocksDB, scaled as published."""

from __future__ import annotations

import pytest

from pipeline.model import Machine, Revision
from pipeline.storage.derive.fits import fits
from pipeline.targets.rocksdb import RocksDB
from pipeline.targets.rocksdb.configuration import FILES, arguments

TARGET = RocksDB()
SMALL, LARGE = (8, 32), (48, 128)
"""The published machines: cores and GB of memory."""


def machine_of(machine: Machine, cores: int, gb: int) -> Machine:
    return machine.model_copy(update={"cores": cores, "memory_bytes": gb << 30})


def release(major: str) -> Revision:
    numbers = tuple(int(number) for number in major.split("."))
    return Revision(target="rocksdb", version=f"{major}.0", order=(*numbers, 0), major=major)


def options(family: str, machine: Machine, major: str = "9.10") -> dict[str, str]:
    config = TARGET.config(family, release(major), machine)
    return dict(word.removeprefix("--").split("=", 1) for word in arguments(config.text))


@pytest.mark.parametrize(
    ("major", "small", "large"),
    [
        ("6.29", "lru_cache", "lru_cache"),
        ("7.6", "lru_cache", "lru_cache"),
        ("7.7", "lru_cache", "hyper_clock_cache"),
        ("7.10", "lru_cache", "hyper_clock_cache"),
        ("8.5", "lru_cache", "hyper_clock_cache"),
        ("8.6", "lru_cache", "auto_hyper_clock_cache"),
        ("10.8", "lru_cache", "auto_hyper_clock_cache"),
    ],
)
def test_the_cache_is_the_best_of_a_release_where_many_threads_run(
    machine: Machine, major: str, small: str, large: str
) -> None:
    assert options("byrx", machine_of(machine, *SMALL), major)["cache_type"] == small
    assert options("byrx", machine_of(machine, *LARGE), major)["cache_type"] == large


def test_a_commit_of_no_known_series_is_the_newest_code(machine: Machine) -> None:
    commit = Revision(target="rocksdb", version="0123456", order=(3,), major="")
    config = TARGET.config("byrx", commit, machine_of(machine, *LARGE))
    assert "--cache_type=auto_hyper_clock_cache" in arguments(config.text)


@pytest.mark.parametrize(
    ("cores", "gb", "cache_gb", "jobs"),
    [(4, 16, 10, 3), (8, 16, 10, 4), (8, 32, 20, 4), (48, 128, 89.6, 12)],
)
def test_memory_and_threads_are_scaled_as_published(
    machine: Machine, cores: int, gb: int, cache_gb: float, jobs: int
) -> None:
    found = options("byrx", machine_of(machine, cores, gb))
    assert int(found["cache_size"]) == pytest.approx(cache_gb * 2**30)
    assert int(found["max_background_jobs"]) == jobs


def test_the_three_settings_differ_in_io_and_compression_alone(machine: Machine) -> None:
    small = machine_of(machine, *SMALL)
    byrx, iobuf, iodir = (set(options(f, small).items()) for f in ("byrx", "iobuf", "iodir"))
    assert [*FILES.families()] == ["byrx", "iobuf", "iodir"]
    assert byrx - iobuf == {("compression_type", "none")}
    assert iobuf - byrx == {
        ("compression_type", "lz4"),
        ("min_level_to_compress", "3"),
        ("compression_ratio", "0.5"),
    }
    assert {name for name, _ in iobuf - iodir} == {"bytes_per_sync", "undefok"}
    assert {name for name, _ in iodir - iobuf} == {
        "bytes_per_sync",
        "undefok",
        "use_direct_reads",
        "use_direct_io_for_flush_and_compaction",
        "prepopulate_block_cache",
    }


@pytest.mark.parametrize(("family", "gb"), [("byrx", 0), ("iobuf", 32), ("iodir", 20)])
def test_a_database_that_fits_where_it_should_not_is_marked(
    machine: Machine, family: str, gb: int
) -> None:
    config = TARGET.config(family, release("9.10"), machine_of(machine, *SMALL))
    assert config.exceeds == gb << 30
    assert fits(config, (gb << 30) + 1) == []
    assert fits(config, None) == []
    said = fits(config, gb << 29)
    assert said == (
        []
        if gb == 0
        else [
            f"this result is not IO-bound: the database of {gb / 2:.2f} GB fits into the "
            f"{gb:.2f} GB of memory that an IO-bound one ({family}) exceeds"
        ]
    )
