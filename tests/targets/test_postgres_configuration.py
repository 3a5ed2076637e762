from __future__ import annotations

import re

import pytest

from pipeline.model import Machine, Revision
from pipeline.targets.postgres import Postgres
from pipeline.targets.postgres.configuration import FILES, scale
from pipeline.text.errors import UserError

EVERY = [(family, major) for family, majors in FILES.families().items() for major in majors]


def revision(major: str) -> Revision:
    order = (*map(int, major.split(".")), 1)
    return Revision(target="postgres", version=f"{major}.1", order=order, major=major)


def sized(machine: Machine, cores: int, gb: float) -> Machine:
    return machine.model_copy(update={"cores": cores, "memory_bytes": int(gb * 2**30)})


def settings(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found: list[tuple[str, str]] = re.findall(r"^(\w+) = (\S+)$", "\n".join(lines), re.MULTILINE)
    assert len(found) == len(lines)
    return dict(found)


def test_every_family_has_a_file_since_each_change() -> None:
    assert FILES.families() == {
        "x10a": ("9.6", "10", "11", "13", "17", "18"),
        "x10b": ("18",),
        "x10c": ("18",),
        "x10d": ("18",),
    }


@pytest.mark.parametrize(("family", "major"), EVERY)
def test_every_file_scales_and_says_why(machine: Machine, family: str, major: str) -> None:
    config = Postgres().config(family, revision(major), sized(machine, 8, 31.1))
    assert config.name == f"{family}_c8r32"
    assert config.family == family
    found = settings(config.text)
    assert found["shared_buffers"] == f"{23 * 1024}MB"
    blocks = config.text.split("\n\n")
    assert all(block.startswith("#") for block in blocks), "a setting without a reason"


def test_the_families_of_18_differ_only_in_how_they_read(machine: Machine) -> None:
    texts = {
        family: settings(Postgres().config(family, revision("18"), machine).text)
        for family in FILES.families()
    }
    methods = {family: found.pop("io_method", "") for family, found in texts.items()}
    assert methods == {"x10a": "", "x10b": "sync", "x10c": "worker", "x10d": "io_uring"}
    assert texts["x10c"].pop("io_workers") == "16"
    assert texts["x10a"] == texts["x10b"] == texts["x10c"] == texts["x10d"]


def test_equal_machines_give_equal_configurations(machine: Machine) -> None:
    once, again = (Postgres().config("x10a", revision("17"), machine) for _ in range(2))
    assert once.hash == again.hash
    assert once.hash != Postgres().config("x10a", revision("17"), sized(machine, 2, 500)).hash


@pytest.mark.parametrize("gb", [0.25, 1, 2, 23.5, 125, 2000])
def test_scaling_stays_within_reason(machine: Machine, gb: float) -> None:
    values = {name: value for name, value in scale(sized(machine, 2, gb)).items() if value}
    sizes = {name: int(value) for name, value in values.items() if name.endswith("_mb")}
    assert 128 <= sizes["shared_buffers_mb"] <= max(1024, gb * 1024) * 0.8
    assert 512 < sizes["min_wal_size_mb"] < sizes["max_wal_size_mb"] <= 96 * 1024
    assert 8 <= sizes["autovacuum_work_mem_mb"] <= 1024


def test_an_unknown_family_says_which_there_are(machine: Machine) -> None:
    with pytest.raises(UserError, match="choose one of x10a, x10b, x10c, x10d"):
        Postgres().config("x10z", revision("17"), machine)


def test_a_major_without_a_file_says_which_have_one(machine: Machine) -> None:
    with pytest.raises(
        UserError, match=r"no file for postgres 9.5; its first supported version is 9.6$"
    ):
        Postgres().config("x10a", revision("9.5"), machine)
    with pytest.raises(UserError, match="config x10c has no file for postgres 17; its f"):
        Postgres().config("x10c", revision("17"), machine)
