from __future__ import annotations

import re

import pytest

from pipeline.model import Machine, Revision
from pipeline.targets.mysql import MySQL
from pipeline.targets.mysql.configuration import FILES, scale
from pipeline.text.errors import UserError

SINCE = ("5.6", "5.7", "8.0", "8.4")
OURS = ("small", "small_gtid", "small_nogtid")
GTID = {"gtid_mode", "enforce_gtid_consistency"}


def revision(major: str) -> Revision:
    order = tuple(map(int, major.split(".")))
    return Revision(target="mysql", version=f"{major}.1", order=(*order, 1), major=major)


def sized(machine: Machine, cores: int, gb: float) -> Machine:
    return machine.model_copy(update={"cores": cores, "memory_bytes": int(gb * 2**30)})


def settings(text: str) -> dict[str, str]:
    """The settings as every release understands them, ``loose_`` or not."""
    lines = [line for line in text.splitlines() if line and line[0] not in "#["]
    found = [re.fullmatch(r"(?:loose_)?(\w+) = (\S+)", line) for line in lines]
    assert all(found), lines
    return {match[1]: match[2] for match in found if match}


def configured(family: str, major: str, machine: Machine) -> dict[str, str]:
    return settings(MySQL().config(family, revision(major), machine).text)


def test_every_family_has_a_file_since_each_change() -> None:
    published = (*SINCE, "9.0")
    assert FILES.families() == {
        **dict.fromkeys(OURS, SINCE),
        "z12a": published,
        "z12a_gtid": ("8.0", "8.4", "9.0"),
        "z12b": published,
        "z13a": ("9.5",),
        "z13a_gtid": ("9.5",),
    }


@pytest.mark.parametrize("family", OURS)
@pytest.mark.parametrize("major", [*SINCE, "8.3", "9.7"])
def test_every_file_scales_and_says_why(machine: Machine, family: str, major: str) -> None:
    config = MySQL().config(family, revision(major), sized(machine, 8, 31.1))
    assert config.name == f"{family}_c8r32"
    found = settings(config.text)
    assert found["innodb_buffer_pool_size"] == "22528M"
    if "innodb_log_file_size" in found:
        files = int(found["innodb_log_files_in_group"])
        assert files * int(found["innodb_log_file_size"].removesuffix("M")) == 4096
    assert found.get("innodb_redo_log_capacity", "4096M") == "4096M"
    # Storage is waited for in no commit, and the binary log is written.
    assert found["innodb_flush_log_at_trx_commit"] == "2"
    assert found["sync_binlog"] == "0"
    assert found["log_bin"] == "binlog"
    blocks = [block for block in config.text.split("\n\n") if block != "[mysqld]"]
    assert all(block.startswith("#") for block in blocks), "a setting without a reason"


def test_majors_differ_only_in_what_they_know(machine: Machine) -> None:
    found = {major: configured("small", major, machine) for major in SINCE}
    names = {major: set(values) for major, values in found.items()}
    files = {"innodb_log_file_size", "innodb_log_files_in_group"}
    assert names["5.7"] - names["5.6"] == {"innodb_buffer_pool_chunk_size"}
    assert names["5.6"] - names["5.7"] == {"binlog_format"}
    assert names["5.7"] - names["8.0"] == {"query_cache_type", "query_cache_size"}
    assert names["8.0"] - names["5.7"] == {"innodb_redo_log_capacity"}
    assert names["8.0"] - names["8.4"] == files
    assert names["8.4"] <= names["8.0"]
    for name in set.intersection(*names.values()):
        assert len({values[name] for values in found.values()}) == 1, name


@pytest.mark.parametrize("major", SINCE)
def test_families_differ_only_in_global_transaction_identifiers(
    machine: Machine, major: str
) -> None:
    plain, on, off = (configured(family, major, machine) for family in OURS)
    assert not GTID & plain.keys()
    assert {name: off[name] for name in off.keys() - plain.keys()} == dict.fromkeys(GTID, "OFF")
    more = {name: on[name] for name in on.keys() - plain.keys()}
    # 5.6 wants a replica's changes to be logged, too.
    assert more == dict.fromkeys([*GTID, *(["log_slave_updates"] if major == "5.6" else [])], "ON")
    assert plain.items() <= on.items() & off.items()


@pytest.mark.parametrize("gb", [0.25, 1, 2, 23.5, 125, 2000])
def test_scaling_stays_within_reason(machine: Machine, gb: float) -> None:
    values = scale(sized(machine, 2, gb))
    pool = values["buffer_pool_mb"]
    assert 128 <= pool <= max(1024, gb * 1024) * 0.8
    # Eight instances with whole chunks, or the one that less than a gigabyte has.
    assert pool % (1024 if pool >= 1024 else 128) == 0
    assert 128 <= values["log_file_mb"] <= 16384
    assert values["log_half_mb"] * 2 == values["log_file_mb"]


def test_what_there_is_not_says_what_there_is(machine: Machine) -> None:
    with pytest.raises(
        UserError, match="mysql has no config 'x10a'; choose one of small, small_gtid, "
    ):
        MySQL().config("x10a", revision("9.7"), machine)
    with pytest.raises(
        UserError, match=r"no file for mysql 5\.5; its first supported version is 5\.6$"
    ):
        MySQL().config("small", revision("5.5"), machine)
