"""Whatever others have in the project is never touched: by random labels, and in blind listings."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes.hetzner.project import KINDS
from tests.fleet.module import up
from tests.fleet.trouble import WISHES, staged, without_disk

NAME = "test"
OLD = "20200101T000000Z"

PART = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,10}[A-Za-z0-9])?", fullmatch=True)
KEYS = st.sampled_from(
    ["nightshift", "Nightshift", "night", "class", "expires", "role", "x/nightshift"]
)
VALUES = st.one_of(
    PART, st.sampled_from(["", NAME, "Test", "tests", "nightshift", "bench", "hub", "77", OLD])
)
LABELS = st.dictionaries(st.one_of(KEYS, PART), VALUES, max_size=6)


def is_foreign(labels: dict[str, str]) -> bool:
    """Tell whether labels are not those of what this pipeline makes for nights."""
    return labels.get("nightshift") != NAME or labels.get("role", "bench") != "bench"


FOREIGN = LABELS.filter(is_foreign)
"""Labels of others; the likeliest to be mistaken are those that lack one thing only."""
NEARLY = st.one_of(
    st.just({"nightshift": NAME, "night": "77", "expires": OLD, "role": "hub"}),
    VALUES.filter(lambda value: value != NAME).map(
        lambda value: {"nightshift": value, "night": "77", "expires": OLD, "role": "bench"}
    ),
)


@settings(
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.one_of(FOREIGN, NEARLY)), min_size=1, max_size=8),
    st.booleans(),
)
def test_what_is_not_ours_is_never_touched(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    foreign: list[tuple[str, dict[str, str]]],
    blind: bool,
) -> None:
    without_disk(monkeypatch)
    with staged(Path(tmp_path_factory.mktemp("foreign"))) as stage:
        project = stage.fake.project
        stage.fake.blind = blind
        for number, (kind, labels) in enumerate(foreign):
            project.make(kind, {"name": f"theirs-{number}", "labels": labels, **WISHES[kind]})
        for _ in range(3):
            project.tick()
        before = copy.deepcopy(project.things)
        assert stage.through(lambda fleet: up(fleet, "77")) is not None
        stage.time.at += 3600
        down = stage.through(lambda fleet: fleet.down("77"))
        reap = stage.through(lambda fleet: fleet.reap())
        assert down is not None and not down.left and reap is not None and not reap.left
        assert project.things == before
