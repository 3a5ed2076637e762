from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from pipeline.measure.controls import controls_of, measured_here, remember_measured, with_controls
from pipeline.measure.discover import offers_of
from pipeline.measure.plan import check_workloads, make_plan
from pipeline.model import Cell
from pipeline.text.errors import UserError
from tests.measure.samples import MACHINE, OFFER, cell, config_file, known

NIGHT = date(2026, 3, 1)

LINE = """
[[line]]
name = "pg"
target = "postgres"
revisions = ["17.10", "17.11"]

[[workload]]
name = "tiny"
steps = ["scan"]
clients = [1, 2]
"""
CONTROL = """
[[control]]
name = "pinned"
target = "postgres"
revision = "16.9"
workload = "tiny"
"""


def controls(
    text: str = LINE + CONTROL, night: date = NIGHT, host: str = "here", of: str = "tested"
) -> list[Cell]:
    machine = MACHINE.model_copy(update={"hostname": host, "machine_class": of})
    return controls_of(config_file(text), known(), machine, night, quick=False)


def test_a_control_is_the_pinned_revision_with_the_first_number_of_clients() -> None:
    (one,) = controls()
    assert one.revision.label == "16.9"
    assert (one.workload.name, one.workload.scale.clients) == ("tiny", 1)
    assert one.control is not None
    assert one.control.model_dump() == {"name": "pinned", "machine": "here", "night": NIGHT}


def test_each_night_and_each_machine_has_its_own() -> None:
    keys = {
        each.key
        for night in (NIGHT, date(2026, 3, 2))
        for host in ("here", "there")
        for each in controls(night=night, host=host)
    }
    assert len(keys) == 4
    assert controls()[0].key == controls()[0].key


def test_a_control_shares_no_run_with_a_line_that_has_its_revision() -> None:
    text = LINE.replace('"17.10"', '"16.9"') + CONTROL
    planned = make_plan(config_file(text), known(), [MACHINE], quick=False)
    (one,) = controls(text)
    same = one.model_copy(update={"control": None})
    assert same.key in set(planned.keys())
    assert one.key not in set(planned.keys())
    assert one.run_id(1) != same.run_id(1)


def test_only_the_classes_that_are_named_measure_it() -> None:
    text = LINE + CONTROL + 'classes = ["ccx13"]\n'
    assert controls(text) == []
    assert len(controls(text, of="ccx13")) == 1


def test_the_night_begins_and_ends_with_them() -> None:
    (one,), runs = controls(), [(cell("17.10"), 1), (cell("17.11"), 1)]
    assert with_controls([one], runs, set()) == [(one, 1), *runs, (one, 2)]
    assert with_controls([one], runs, {(one.key, 1)}) == [*runs, (one, 2)]
    assert with_controls([one], [], {(one.key, 1), (one.key, 2)}) == []
    assert with_controls([], runs, set()) == runs


def test_jobs_of_a_machine_know_what_it_measured_in_these_nights(tmp_path: Path) -> None:
    assert measured_here(tmp_path) == set()
    for day in (1, 2, 3, 4):
        (one,) = controls(night=date(2026, 3, day))
        remember_measured(one, 1, tmp_path)
    nights = {controls(night=date(2026, 3, day))[0].key for day in (2, 3, 4)}
    assert measured_here(tmp_path) == {(key, 1) for key in nights}
    remember_measured(cell(), 1, tmp_path)
    assert len(measured_here(tmp_path)) == 3
    (tmp_path / "controls.json").write_text("[")
    assert measured_here(tmp_path) == set()


def test_what_controls_ask_for_is_discovered() -> None:
    assert offers_of(config_file(LINE + CONTROL)) == [OFFER]
    other = CONTROL.replace('"postgres"', '"postgres"\nsource = "git"')
    assert len(offers_of(config_file(LINE + other))) == 2


def test_a_revision_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match=r"toml:\d+: control.revision: .*no revision '16.99'"):
        controls(LINE + CONTROL.replace('"16.9"', '"16.99"'))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('workload = "tiny"', 'workload = "tony"'), r"toml:\d+: control.workload: .*tiny"),
        (('target = "postgres"', 'target = "postgrez"'), r"toml:\d+: control.target: .*postgres"),
        (('target = "postgres"', 'target = "rocksdb"'), "does not run on rocksdb"),
        (('revision = "16.9"', 'revision = "16.9"\nbuild = "fast"'), "no build options 'fast'"),
        (('name = "pinned"', 'name = "pinned"\nsource = "nowhere"'), "has no source 'nowhere'"),
    ],
)
def test_a_mistake_is_answered_with_its_line(change: tuple[str, str], said: str) -> None:
    with pytest.raises(UserError, match=said):
        check_workloads(config_file(LINE + CONTROL.replace(*change)))


def test_two_of_a_name_are_refused() -> None:
    with pytest.raises(UserError, match="two control tables have the name pinned"):
        config_file(LINE + CONTROL + CONTROL)
