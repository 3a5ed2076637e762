from __future__ import annotations

import re

import pytest

from pipeline.model import Machine, Revision
from pipeline.targets.postgres import Postgres
from pipeline.targets.postgres.configuration import FILES, scale
from pipeline.text.errors import UserError

EVERY = [(family, major) for family, majors in FILES.families().items() for major in majors]


def revision(major: str) -> Revision:
    return Revision(target="postgres", version=f"{major}.1", order=(int(major), 1), major=major)


def sized(machine: Machine, cores: int, gb: float) -> Machine:
    return machine.model_copy(update={"cores": cores, "memory_bytes": int(gb * 2**30)})


def settings(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found: list[tuple[str, str]] = re.findall(r"^(\w+) = (\S+)$", "\n".join(lines), re.MULTILINE)
    assert len(found) == len(lines)
    return dict(found)


def test_there_is_x10a_for_every_major() -> None:
    assert FILES.families() == {
        "x10a": ("12", "13", "14", "15", "16", "17", "18"),
        "x10c": ("18",),
        "x10d": ("18",),
    }


@pytest.mark.parametrize(("family", "major"), EVERY)
def test_every_file_scales_and_says_why(machine: Machine, family: str, major: str) -> None:
    config = Postgres().config(family, revision(major), sized(machine, 8, 31.1))
    assert config.name == f"{family}_c8r32"
    assert config.family == family
    found = settings(config.text)
    assert found["shared_buffers"] == "22937MB"  # the published files have 23 GB of 32
    assert found["max_wal_size"] == "40960MB"  # 40 GB
    assert found["autovacuum_work_mem"] == "256MB"
    assert found["jit"] == "off"
    blocks = config.text.split("\n\n")
    assert all(block.startswith("#") for block in blocks), "a setting without a reason"


def test_majors_differ_only_in_what_they_know(machine: Machine) -> None:
    found = {
        major: settings(Postgres().config("x10a", revision(major), machine).text)
        for major in FILES.families()["x10a"]
    }
    names = {major: set(values) for major, values in found.items()}
    assert names["13"] - names["12"] == {"autovacuum_vacuum_insert_scale_factor"}
    assert names["13"] == names["14"] == names["15"]
    assert names["16"] - names["15"] == {"vacuum_buffer_usage_limit"}
    assert names["16"] == names["17"]
    assert names["18"] - names["17"] == {"io_method"}
    assert found["18"]["io_method"] == "sync"
    for name in names["12"]:
        assert len({values[name] for values in found.values()}) == 1, name


def test_the_families_of_18_differ_only_in_how_they_read(machine: Machine) -> None:
    texts = {
        family: settings(Postgres().config(family, revision("18"), machine).text)
        for family in FILES.families()
    }
    methods = {family: found.pop("io_method") for family, found in texts.items()}
    assert methods == {"x10a": "sync", "x10c": "worker", "x10d": "io_uring"}
    assert texts["x10c"].pop("io_workers") == "3"
    assert texts["x10a"] == texts["x10c"] == texts["x10d"]


def test_equal_machines_give_equal_configurations(machine: Machine) -> None:
    once, again = (Postgres().config("x10a", revision("17"), machine) for _ in range(2))
    assert once.hash == again.hash
    assert once.hash != Postgres().config("x10a", revision("17"), sized(machine, 2, 500)).hash


@pytest.mark.parametrize("gb", [0.25, 1, 2, 23.5, 125, 2000])
def test_scaling_stays_within_reason(machine: Machine, gb: float) -> None:
    values = scale(sized(machine, 2, gb))
    assert values["shared_buffers_mb"] >= 128
    assert values["shared_buffers_mb"] <= max(1024, gb * 1024) * 0.8
    assert values["min_wal_size_mb"] < values["max_wal_size_mb"] <= 65536
    assert 64 <= values["autovacuum_work_mem_mb"] <= 256


def test_an_unknown_family_says_which_there_are(machine: Machine) -> None:
    with pytest.raises(UserError, match="choose one of x10a, x10c, x10d"):
        Postgres().config("x10z", revision("17"), machine)


def test_a_major_without_a_file_says_which_have_one(machine: Machine) -> None:
    with pytest.raises(
        UserError, match=r"no file for postgres 11; its first supported version is 12$"
    ):
        Postgres().config("x10a", revision("11"), machine)
    with pytest.raises(UserError, match="config x10c has no file for postgres 17; its f"):
        Postgres().config("x10c", revision("17"), machine)
