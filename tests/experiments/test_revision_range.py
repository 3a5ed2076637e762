"""Which revisions lie between two, and with which workload they are measured."""

from __future__ import annotations

import re

import pytest

from pipeline.config import ConfigFile
from pipeline.experiments.revision_range import ladder_of, revisions_between, workload_for
from pipeline.measure.discover import commit_revision
from pipeline.text.errors import UserError
from tests.measure.samples import OFFER, config_file, known

CONFIG = """
[[line]]
name = "majors"
target = "postgres"
take = "newest-of-each-major"

[[line]]
name = "minors"
target = "postgres"
since = "17.9"
until = "17"

[[line]]
name = "control"
target = "postgres"
revisions = ["17.9", "17.9#2", "17.11"]

[[line]]
name = "trunk"
target = "sqlite"
source = "git"
major = "3.46"

[[workload]]
name = "elsewhere"
family = "db_bench"
lines = []

[[workload]]
name = "reads"
steps = ["scan"]
lines = ["minors", "trunk"]
config = "x10a"

[[workload]]
name = "inserts"
family = "insert_benchmark"
clients = [2, 4]
"""


@pytest.fixture
def file() -> ConfigFile:
    return config_file(CONFIG)


def between(file: ConfigFile, target: str, line: str, good: str, bad: str) -> list[str]:
    found = revisions_between(file, ladder_of(file, target, line), known()[OFFER], good, bad)
    return [revision.label for revision in found]


def test_a_line_bisects_what_it_takes(file: ConfigFile) -> None:
    assert between(file, "", "majors", "14.24", "17.11") == ["14.24", "16.9", "17.11"]
    assert between(file, "postgres", "minors", "17.9", "17.11") == ["17.9", "17.10", "17.11"]
    assert between(file, "", "control", "17.9", "17.11") == ["17.9", "17.11"]


def test_a_major_bisects_all_its_releases(file: ConfigFile) -> None:
    assert between(file, "postgres", "17", "17.0", "17.10") == ["17.0", "17.9", "17.10"]
    ladder = ladder_of(file, "postgres", "17")
    assert (ladder.offer, ladder.options, ladder.at) == (OFFER, "official", None)


def test_a_branch_bisects_all_commits_between(file: ConfigFile) -> None:
    ladder = ladder_of(file, "", "trunk")
    commits = [
        commit_revision("sqlite", at, f"{at:02x}{0:038x} 1700000000").model_copy(
            update={"supply": ladder.offer.supply}
        )
        for at in range(1, 40)
    ]
    found = revisions_between(file, ladder, commits, "050000000000", "1e00000")
    assert [revision.order for revision in found] == [(at,) for at in range(5, 31)]
    assert {revision.major for revision in found} == {"3.46"}
    assert ladder.options == "rel_o2nofp"


@pytest.mark.parametrize(
    ("target", "line", "good", "bad", "message"),
    [
        ("", "minor", "17.9", "17.11", "no line 'minor'; did you mean minors?"),
        ("mysql", "minors", "17.9", "17.11", "is a line of postgres, not of mysql"),
        ("posgres", "18", "17.9", "17.11", "did you mean postgres?"),
        ("", "minors", "17.11", "17.9", "17.11 does not come before 17.9 on minors"),
        ("", "minors", "17.9", "17.9", "does not come before"),
        ("", "minors", "17.3", "17.9", "maven has no postgres 17.3; `nightshift discover"),
        (
            "",
            "minors",
            "16.9",
            "17.9",
            "does not include postgres 16.9; it includes 17.9, 17.10, 17.11",
        ),
        ("postgres", "18", "17.11", "18.0", "does not include postgres 17.11; it includes 18.0"),
    ],
)
def test_what_is_not_on_the_line(
    file: ConfigFile, target: str, line: str, good: str, bad: str, message: str
) -> None:
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        between(file, target, line, good, bad)
    assert "\n" not in str(caught.value)


def test_the_first_workload_that_fits_is_taken(file: ConfigFile) -> None:
    minors, majors = ladder_of(file, "", "minors"), ladder_of(file, "", "majors")
    at, reads = workload_for(file, minors, "", (), False)
    assert (at, reads.name, [step.name for step in reads.steps]) == (1, "reads", ["scan_range=100"])
    at, other = workload_for(file, minors, "", ["point-query"], False)
    assert (at, [step.name for step in other.steps]) == (1, ["point-query_range=100"])
    at, inserts = workload_for(file, minors, "", ["l.i1"], False)
    assert (at, inserts.scale.clients) == (2, 2)
    assert workload_for(file, majors, "", (), False)[0] == 2
    assert workload_for(file, minors, "inserts", (), False)[0] == 2
    assert workload_for(file, ladder_of(file, "postgres", "17"), "", (), False)[0] == 1
    assert workload_for(file, minors, "reads", (), True)[1].name == "reads-quick"


@pytest.mark.parametrize(
    ("line", "name", "steps", "message"),
    [
        ("minors", "writes", (), "there is no workload 'writes'"),
        ("minors", "reads", ("point-qury",), "did you mean"),
        ("majors", "reads", (), "the workload reads does not run on majors (postgres)"),
        ("minors", "elsewhere", (), "the workload elsewhere does not run on minors"),
    ],
)
def test_no_workload_that_fits(
    file: ConfigFile, line: str, name: str, steps: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        workload_for(file, ladder_of(file, "", line), name, steps, False)


def test_no_workload_at_all() -> None:
    file = config_file('[[line]]\nname = "a"\ntarget = "postgres"\n')
    with pytest.raises(UserError, match=r"no workload of nightshift.toml runs on a \(postgres\)"):
        workload_for(file, ladder_of(file, "", "a"), "", (), False)
