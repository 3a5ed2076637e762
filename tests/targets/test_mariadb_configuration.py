from __future__ import annotations

import re

import pytest

from pipeline.model import Machine, Revision
from pipeline.targets.mariadb import MariaDB
from pipeline.targets.mariadb.configuration import FILES, scale
from pipeline.text.errors import UserError

MAJORS = FILES.families()["small"]


def revision(major: str) -> Revision:
    order = tuple(map(int, major.split(".")))
    return Revision(target="mariadb", version=f"{major}.1", order=(*order, 1), major=major)


def sized(machine: Machine, cores: int, gb: float) -> Machine:
    return machine.model_copy(update={"cores": cores, "memory_bytes": int(gb * 2**30)})


def settings(text: str) -> dict[str, str]:
    """The settings as every release understands them, ``loose_`` or not."""
    lines = [line for line in text.splitlines() if line and line[0] not in "#["]
    found = [re.fullmatch(r"(?:loose_)?(\w+) = (\S+)", line) for line in lines]
    assert all(found), lines
    return {match[1]: match[2] for match in found if match}


def test_there_is_a_file_for_every_major_that_is_published() -> None:
    assert FILES.families() == {
        "small": ("10.1", "10.2", "10.11", "11.4"),
        "z12b": ("10.2", "10.5", "11.0"),
        "z12b_sync": ("11.0",),
        "z12c": ("12.3",),
        "z12c_sync": ("12.3",),
    }


@pytest.mark.parametrize("major", MAJORS)
def test_every_file_scales_and_says_why(machine: Machine, major: str) -> None:
    config = MariaDB().config("small", revision(major), sized(machine, 8, 31.1))
    assert config.name == "small_c8r32"
    found = settings(config.text)
    assert found["innodb_buffer_pool_size"] == "22912M"
    files = int(found.get("innodb_log_files_in_group", "1"))
    assert files * int(found["innodb_log_file_size"].removesuffix("M")) == 4096
    # Storage is waited for in no commit, and the binary log is written.
    assert found["innodb_flush_log_at_trx_commit"] == "2"
    assert found["sync_binlog"] == "0"
    assert found["log_bin"] == "binlog"
    blocks = [block for block in config.text.split("\n\n") if block != "[mysqld]"]
    assert all(block.startswith("#") for block in blocks), "a setting without a reason"


def test_majors_differ_only_in_what_they_know(machine: Machine) -> None:
    found = {
        major: settings(MariaDB().config("small", revision(major), machine).text)
        for major in MAJORS
    }
    names = {major: set(values) for major, values in found.items()}
    assert names["10.2"] - names["10.1"] == {"innodb_buffer_pool_chunk_size"}
    assert names["10.2"] - names["10.11"] == {"innodb_log_files_in_group"}
    assert names["10.11"] - names["10.2"] == {"innodb_log_file_buffering"}
    assert names["10.11"] - names["11.4"] == {"innodb_flush_method", "innodb_change_buffering"}
    for name in set.intersection(*names.values()) - {"innodb_log_file_size"}:
        assert len({values[name] for values in found.values()}) == 1, name


@pytest.mark.parametrize("gb", [0.25, 1, 2, 23.5, 125, 2000])
def test_scaling_stays_within_reason(machine: Machine, gb: float) -> None:
    values = scale(sized(machine, 2, gb))
    assert 128 <= values["buffer_pool_mb"] <= max(1024, gb * 1024) * 0.8
    assert values["buffer_pool_mb"] % 128 == 0
    assert 128 <= values["log_file_mb"] <= 16384
    assert values["log_half_mb"] * 2 == values["log_file_mb"]


def test_what_there_is_not_says_what_there_is(machine: Machine) -> None:
    with pytest.raises(UserError, match="mariadb has no config 'x10a'; choose one of small"):
        MariaDB().config("x10a", revision("11.4"), machine)
    with pytest.raises(
        UserError, match=r"no file for mariadb 5\.5; its first supported version is 10\.1$"
    ):
        MariaDB().config("small", revision("5.5"), machine)
