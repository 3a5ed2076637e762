from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pipeline.config import LineSection
from pipeline.measure.build_options import read_patches
from pipeline.measure.discover import Offer, find_revision, offers_of, revisions_of, select
from pipeline.measure.plan import (
    Line,
    Plan,
    check_workloads,
    make_plan,
    quicken,
    section_of,
    workload_at,
)
from pipeline.model import Cell, digest
from pipeline.targets.postgres import Postgres
from pipeline.text.errors import UserError
from tests.measure.samples import MACHINE, OFFER, VERSIONS, cell, config_file, known

LINE = '[[line]]\nname = "{name}"\ntarget = "postgres"\n{more}\n'
WORKLOAD = '[[workload]]\nname = "cached"\nsteps = ["scan"]\n{more}\n'


def plan(text: str, quick: bool = False) -> Plan:
    return make_plan(config_file(text), known(), [MACHINE], quick)


def line(name: str = "all", more: str = "") -> str:
    return LINE.format(name=name, more=more)


def workload(more: str = "") -> str:
    return WORKLOAD.format(more=more)


def labels(planned: Line) -> list[str]:
    return [revision.label for revision in planned.revisions]


@pytest.mark.parametrize(
    ("settings", "chosen"),
    [
        ({}, list(VERSIONS)),
        ({"since": "17"}, ["17.0", "17.9", "17.10", "17.11", "18.0"]),
        ({"since": "17.9"}, ["17.9", "17.10", "17.11", "18.0"]),
        ({"until": "14"}, ["9.6.24", "13.22", "14.0", "14.24"]),
        ({"until": "17.9"}, list(VERSIONS[:7])),
        ({"since": "17", "until": "17"}, ["17.0", "17.9", "17.10", "17.11"]),
        ({"since": "9.6", "until": "9.6"}, ["9.6.24"]),
        ({"since": "17.1", "until": "17.9"}, ["17.9"]),
        ({"take": "newest-of-each-major"}, ["9.6.24", "13.22", "14.24", "16.9", "17.11", "18.0"]),
        ({"take": "newest-of-each-major", "since": "16", "until": "17.9"}, ["16.9", "17.9"]),
        ({"since": "99"}, []),
    ],
)
def test_a_line_chooses_from_the_releases(settings: dict[str, Any], chosen: list[str]) -> None:
    section = LineSection(name="x", target="postgres", **settings)
    backwards = tuple(reversed(known()[OFFER]))
    assert [revision.version for revision in select(backwards, section)] == chosen


@pytest.mark.parametrize(
    ("settings", "chosen"),
    [
        ({}, ["18.4", "19beta1", "19beta2", "19rc1", "19.0"]),
        ({"since": "19"}, ["19beta1", "19beta2", "19rc1", "19.0"]),
        ({"since": "19.0"}, ["19.0"]),
        ({"since": "19beta2"}, ["19beta2", "19rc1", "19.0"]),
        ({"until": "19rc1"}, ["18.4", "19beta1", "19beta2", "19rc1"]),
        ({"until": "18"}, ["18.4"]),
        ({"take": "newest-of-each-major"}, ["18.4", "19.0"]),
        ({"take": "newest-of-each-major", "until": "19beta2"}, ["18.4", "19beta2"]),
    ],
)
def test_a_line_has_what_comes_before_a_release(
    settings: dict[str, Any], chosen: list[str]
) -> None:
    tags = Offer("postgres", next(each for each in Postgres().supplies if each.name == "tags"))
    spellings = ("REL_19_RC1", "REL_19_0", "REL_18_4", "REL_19_BETA2", "REL_19_BETA1")
    section = LineSection(name="x", target="postgres", source="tags", **settings)
    found = select(revisions_of(tags, spellings), section)
    assert [revision.version for revision in found] == chosen


@pytest.mark.parametrize(
    ("more", "chosen"),
    [
        ("newest = 2", ["17.11", "18.0"]),
        ('since = "18"\nnewest = 99', ["18.0"]),
        ('since = "17"\nuntil = "17"\nnewest = 1', ["17.11"]),
        ('take = "newest-of-each-major"\nsince = "14"\nnewest = 2', ["17.11", "18.0"]),
    ],
)
def test_the_newest_of_a_line_are_measured(more: str, chosen: list[str]) -> None:
    (made,) = plan(line(more=more) + workload()).lines
    assert (labels(made), made.kept) == (chosen, frozenset())


def test_what_was_measured_when_it_was_new_stays_on_the_line() -> None:
    text = line(more='since = "17"\nnewest = 1')
    everything = line(more='since = "14"')
    earlier = {cell.revision.label: cell for cell in plan(everything + workload()).cells}
    others = {
        cell.revision.label: cell for cell in plan(everything + workload("rows = 7000")).cells
    }
    measured = {
        ("postgres", "17.9"): {earlier["17.9"].key, others["17.9"].key},
        ("postgres", "17.10"): {others["17.10"].key},
        ("postgres", "16.9"): {earlier["16.9"].key},
        ("mysql", "17.11"): {earlier["17.11"].key},
    }
    made = make_plan(config_file(text + workload()), known(), [MACHINE], False, measured=measured)
    (only,) = made.lines
    assert labels(only) == ["17.9", "18.0"], "17.10 was measured with another workload"
    assert only.kept == {"17.9"}
    assert [each.revision.label for each in made.cells] == ["17.9", "18.0"]
    assert [each.revision.label for each, _ in made.remaining(())] == ["18.0"] * 3


def test_what_one_line_keeps_another_measures() -> None:
    text = line("new", 'since = "14"\nnewest = 1') + line("all", 'since = "14"') + workload()
    keys = {each.revision.label: {each.key} for each in plan(text).cells}
    measured = {("postgres", label): key for label, key in keys.items()}
    made = make_plan(config_file(text), known(), [MACHINE], False, measured=measured)
    assert [len(each.kept) for each in made.lines] == [len(keys) - 1, 0]
    assert {each.revision.label for each in made.due} == set(keys)


def test_a_line_can_list_its_revisions_and_controls_in_any_order() -> None:
    made = plan(line(more='revisions = ["17.11#2", "17.10", "17.11", "9.6.24"]'))
    assert labels(made.lines[0]) == ["9.6.24", "17.10", "17.11", "17.11#2"]
    assert made.lines[0].positions["17.11"] == 2


def test_a_control_is_a_cell_of_its_own_on_the_same_build() -> None:
    made = plan(line(more='revisions = ["17.11", "17.11#2"]') + workload())
    first, second = made.cells
    assert first.key != second.key
    assert first.revision.version == second.revision.version
    assert first.run_id(1) != second.run_id(1)


def test_a_revision_on_two_lines_is_measured_once() -> None:
    made = plan(
        line("majors", 'since = "17"\ntake = "newest-of-each-major"')
        + line("minors", 'since = "17"\nuntil = "17"')
        + workload()
    )
    assert [cell.revision.label for cell in made.cells] == [
        "17.11",
        "18.0",
        "17.0",
        "17.9",
        "17.10",
    ]


def test_every_number_of_clients_is_a_cell_and_a_workload() -> None:
    made = plan(line(more='revisions = ["17.11"]') + workload("clients = [1, 4, 4]"))
    assert [cell.workload.scale.clients for cell in made.cells] == [1, 4]
    (made_line,) = made.lines
    one, four = made_line.workloads()
    assert [made_line.keys(one), made_line.keys(four)] == [[cell.key] for cell in made.cells]
    assert made_line.keys() == made.keys()


def test_a_workload_may_keep_to_some_lines() -> None:
    lines = line("a", 'revisions = ["17.10"]') + line("b", 'revisions = ["17.11"]')
    made = plan(lines + workload('lines = ["b"]'))
    assert [cell.revision.label for cell in made.cells] == ["17.11"]
    assert [len(each.cells) for each in made.lines] == [0, 1]


def test_a_class_measures_the_lines_that_it_is_for() -> None:
    lines = line("a", 'revisions = ["17.10"]') + line("b", 'revisions = ["17.11"]')
    classes = '[[class]]\nname = "{}"\nlines = {}\ncores = 2\nmemory_gb = 8\n'
    text = lines + workload() + classes.format("few", '["b"]') + classes.format("all", "[]")
    machines = [
        MACHINE.model_copy(update={"machine_class": name}) for name in ("few", "all", "new")
    ]
    made = make_plan(config_file(text), known(), machines, quick=False)
    assert [each.classes() for each in made.lines] == [["all", "new"], ["few", "all", "new"]]
    few = made.of_class("few")
    assert [[each.machine_class for each in part.cells] for part in few.lines] == [[], ["few"]]
    assert few.cells == tuple(each for each in made.cells if each.machine_class == "few")
    assert few.repetitions == made.repetitions
    (wanted,) = made.lines[1].workloads()
    assert made.lines[1].keys(wanted, "few") == few.keys()
    assert len(made.lines[1].keys(wanted)) == len(made.lines[1].keys()) == 3


def test_revisions_that_are_asked_for_are_measured_beside_the_newest() -> None:
    text = line("a", 'since = "17"\nnewest = 1') + line("b", 'since = "17"\nnewest = 1')
    also = {"b": {"17.9", "17.10"}}
    file = config_file(text + workload())
    made = make_plan(file, known(), [MACHINE], quick=False, also=also)
    assert [labels(each) for each in made.lines] == [["18.0"], ["17.9", "17.10", "18.0"]]
    assert [each.kept for each in made.lines] == [frozenset(), frozenset()]


CONTROL = '[[control]]\nname = "c"\ntarget = "{}"\nrevision = "17.11"\nworkload = "{}"\n'


def test_a_control_needs_a_workload_that_its_target_runs() -> None:
    rocks = '[[workload]]\nname = "rocks"\nfamily = "db_bench"\n'
    check_workloads(config_file(workload() + rocks + CONTROL.format("postgres", "cached")))
    check_workloads(config_file(workload() + rocks + CONTROL.format("rocksdb", "rocks")))
    with pytest.raises(
        UserError, match=r"control\.workload: the workload rocks of family db_bench does not"
    ):
        check_workloads(config_file(workload() + rocks + CONTROL.format("postgres", "rocks")))


def test_a_workload_by_its_place_has_its_first_number_of_clients() -> None:
    file = config_file(workload("clients = [4, 1]") + workload().replace("cached", "io"))
    assert [workload_at(file, at, quick=False).name for at in (0, 1)] == ["cached", "io"]
    assert workload_at(file, 0, quick=True).name == "cached-quick"
    assert workload_at(file, 0, quick=False).scale.clients == 4


def test_a_workload_has_to_suit_the_targets_of_its_own_lines_only() -> None:
    lines = line("pg") + '[[line]]\nname = "rocks"\ntarget = "rocksdb"\n'
    only = 'family = "db_bench"\nlines = ["rocks"]'
    check_workloads(config_file(lines + workload(only).replace('"scan"', '"overwrite"')))
    both = only.replace('["rocks"]', '["rocks", "pg"]')
    with pytest.raises(UserError, match="db_bench does not run on postgres, the target of line pg"):
        check_workloads(config_file(lines + workload(both).replace('"scan"', '"overwrite"')))


def test_what_was_concluded_from_a_plan_says_nothing_of_lines_of_other_names() -> None:
    since = 'since = "17"'
    one, same, other = (plan(line(name, since) + workload()) for name in ("a", "a", "b"))
    assert one.keys() == other.keys()
    assert one.hash == same.hash != other.hash
    fewer = plan(line("a", 'since = "18"') + workload())
    assert fewer.hash != one.hash


def test_a_revision_that_is_kept_is_not_measured_in_a_plan_of_its_own() -> None:
    cells = tuple(cell(version) for version in ("17.10", "17.11"))
    revisions = tuple(each.revision for each in cells)
    kept = Line(
        name="line",
        target="postgres",
        revisions=revisions,
        cells=cells,
        kept=frozenset({"17.10"}),
    )
    others = kept.model_copy(update={"name": "others", "kept": frozenset()})
    whole = Plan(lines=(others, kept), repetitions=1)
    (old,) = whole.of_revision("line", "17.10").lines
    assert (labels(old), old.cells, old.kept) == (["17.10"], cells[:1], {"17.10"})
    (new,) = whole.of_revision("line", "17.11").lines
    assert (labels(new), new.due(), new.kept) == (["17.11"], cells[1:], frozenset())


def test_a_workload_is_found_again_only_as_it_was_measured() -> None:
    listed = line(more='revisions = ["17.11"]')
    text = listed + workload("clients = [1, 4]") + workload("rows = 7000").replace("cached", "io")
    file = config_file(text)
    for quick in (False, True):
        made = plan(text, quick).lines[0].workloads()
        assert [section_of(file, each, quick) for each in made] == [0, 0, 1]
    (changed,) = plan(listed + workload("rows = 9000")).lines[0].workloads()
    with pytest.raises(
        UserError,
        match=r"nightshift\.toml no longer has the workload cached as it was measured",
    ):
        section_of(file, changed, quick=False)
    (quick_one, *_) = plan(text, quick=True).lines[0].workloads()
    with pytest.raises(UserError, match="no longer has the workload cached-quick"):
        section_of(file, quick_one, quick=False)


def plan_of(cells: tuple[Cell, ...], repetitions: int) -> Plan:
    made = Line(name="line", target="postgres", revisions=(), cells=cells)
    return Plan(lines=(made,), repetitions=repetitions)


def test_repetitions_are_interleaved_and_every_other_pass_goes_backwards() -> None:
    cells = tuple(cell(version) for version in ("17.9", "17.10", "17.11"))
    made = plan_of(cells, repetitions=3)
    assert [(c.revision.label, n) for c, n in made.remaining(set())] == [
        ("17.9", 1),
        ("17.10", 1),
        ("17.11", 1),
        ("17.11", 2),
        ("17.10", 2),
        ("17.9", 2),
        ("17.9", 3),
        ("17.10", 3),
        ("17.11", 3),
    ]


def test_what_was_measured_is_left_out_and_the_order_stays() -> None:
    cells = tuple(cell(version) for version in ("17.10", "17.11"))
    made = plan_of(cells, repetitions=2)
    measured = {(cells[0].key, 1), (cells[1].key, 2), ("of another plan", 1)}
    assert [(c.revision.label, n) for c, n in made.remaining(measured)] == [
        ("17.11", 1),
        ("17.10", 2),
    ]
    assert made.remaining({(c.key, n) for c in cells for n in (1, 2)}) == []


def test_more_repetitions_leave_only_the_new_ones() -> None:
    one = cell()
    measured = {(one.key, 1), (one.key, 2)}
    made = plan_of((one,), repetitions=4)
    assert [n for _, n in made.remaining(measured)] == [3, 4]


def test_disturbed_cells_are_due_again_until_they_were_tried_three_times() -> None:
    calm, disturbed = cell("17.10"), cell("17.11")
    made = plan_of((calm, disturbed), repetitions=2)
    measured = {(one.key, n) for one in (calm, disturbed) for n in (1, 2)}
    keys = {disturbed.key}
    assert made.remaining(measured, keys) == [(disturbed, 3), (disturbed, 4)]
    measured |= {(disturbed.key, 3)}
    assert made.remaining(measured, keys) == [(disturbed, 4), (disturbed, 5)]
    measured |= {(disturbed.key, n) for n in (4, 5)}
    assert made.remaining(measured, keys) == [(disturbed, 6)]
    measured |= {(disturbed.key, 6)}
    assert made.remaining(measured, keys) == []
    assert made.most_runs_of(disturbed) == 6


def test_a_disturbed_cell_that_lacks_runs_is_not_due_again_yet() -> None:
    one = cell()
    made = plan_of((one,), repetitions=2)
    assert made.remaining({(one.key, 1)}, {one.key}) == [(one, 2)]
    assert made.remaining(set(), {one.key}) == [(one, 1), (one, 2)]


def test_quick_puts_its_settings_in_place_of_the_usual() -> None:
    text = (
        line("newest", 'since = "14"')
        + line("listed", 'revisions = ["14.0", "16.9", "17.11"]')
        + workload('measure = "15m"\nclients = [4]')
        + '[quick]\nnewest = 3\nrows = 1234\nsteps = ["update-index"]\nmeasure = "2s"\n'
        + 'warmup = "0s"\nrepetitions = 1\n'
    )
    usual, quick = plan(text), plan(text, quick=True)
    assert labels(quick.lines[0]) == ["17.10", "17.11", "18.0"]
    assert labels(quick.lines[1]) == labels(usual.lines[1])
    assert (usual.repetitions, quick.repetitions) == (3, 1)
    (workload_quick,) = quick.lines[0].workloads()
    assert workload_quick.name == "cached-quick"
    assert [step.name for step in workload_quick.steps] == ["update-index_range=100"]
    scale = workload_quick.scale
    assert (scale.rows, scale.measure, scale.warmup, scale.clients) == (1234, 2, 0, 4)
    assert not {c.key for c in usual.cells} & {c.key for c in quick.cells}


def test_quick_steps_are_for_the_families_that_know_them() -> None:
    text = '[[workload]]\nname = "a"\n[[workload]]\nname = "b"\nfamily = "db_bench"\n'
    usual, chosen = "[quick]\nrows = 1000\n", '[quick]\nsteps = ["overwrite", "scan"]\n'
    for more, expected in (
        (usual, [("point-query", "scan", "update-index"), ("all",)]),
        (chosen, [("scan",), ("overwrite",)]),
    ):
        file = config_file(text + more)
        check_workloads(file)
        assert [section.steps for section in quicken(file.config).workload] == expected


def test_quick_leaves_out_the_options_that_go_with_the_scale() -> None:
    written = 'options = { measure_writes = "15m", maintain = "after every step" }'
    text = line(more='revisions = ["17.11"]') + workload(written)
    assert plan(text).cells[0].workload.options == {
        "measure_writes": 900,
        "maintain": "after every step",
    }
    assert plan(text, quick=True).cells[0].workload.options == {"maintain": "after every step"}


def test_quick_leaves_the_rest_alone() -> None:
    config = config_file(line() + workload() + "[detect]\nalarms_per_1000 = 2").config
    quick = quicken(config)
    assert (quick.detect, quick.paths, quick.machine) == (
        config.detect,
        config.paths,
        config.machine,
    )


def test_what_the_lines_ask_for_is_asked_once() -> None:
    assert offers_of(config_file(line("a") + line("b"))) == [OFFER]


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        (line(more='since = "99"'), "1: line", "no release of postgres lies between"),
        (
            line(more='revisions = [\n"17.11",\n"17.12",\n]'),
            "6: line.revisions",
            "postgres has no release '17.12'; did you mean 17.11?",
        ),
        (line(more='revisions = ["17.11#0"]'), "4: line.revisions", "did you mean 17.11?"),
        (line(more='revisions = ["17.11#1"]'), "4: line.revisions", "did you mean 17.11?"),
        (line(more='revisions = ["17.11#x"]'), "4: line.revisions", "did you mean 17.11?"),
        (line(more='revisions = ["17.11#"]'), "4: line.revisions", "did you mean 17.11?"),
        (
            line(more='revisions = ["17.11", "17.11"]'),
            "4: line.revisions",
            "a revision appears twice; to measure a copy of it, write for example 17.11#2",
        ),
        (line() + workload('family = "sysbnch"'), "8: workload.family", "did you mean sysbench?"),
        (line() + workload('config = "x10"'), "8: workload.config", "choose one of x10a"),
        (line() + workload('config = "x10c"'), "8: workload.config", "no file for postgres 9.6"),
        (
            line(more='build = "o3"'),
            "4: line.build",
            "there are no build options 'o3'; choose one of",
        ),
        (line(more='build = "rel_o2nofp"'), "4: line.build", "the releases of maven are prebuilt"),
        (
            line(more='source = "git"\nbuild = "official"'),
            "5: line.build",
            "git provides source code",
        ),
        (
            line(more='major = "17"'),
            "4: line.major",
            "the source maven provides releases, which determine the major version",
        ),
        (line(more='source = "gitt"'), "4: line.source", "has no source 'gitt'; did you mean git?"),
        (line(more='branch = "x"'), "4: line.branch", "the source maven accepts no branch"),
        (
            line(more='source = "tags"\nrepository = "/x"\nbranch = "y"'),
            "5: line.repository",
            "the source tags accepts no branch",
        ),
        (
            line() + workload('configs = { postgres = "x10" }'),
            "8: workload.configs",
            "choose one of x10a",
        ),
        (
            line() + '[[workload]]\nname = "w"\nsteps = [\n  "scan",\n  "scam", # typo\n]',
            "9: workload.steps",
            "there is no step 'scam'; did you mean scan",
        ),
        (line() + workload('measure = "1500ms"'), "8: workload.measure", "whole seconds"),
        (
            line() + workload() + '[quick]\nsteps = ["scan", "pint-query"]',
            "10: quick.steps",
            "there is no step 'pint-query'; did you mean point-query",
        ),
        (
            line() + workload('family = "db_bench"').replace('"scan"', '"overwrite"'),
            "8: workload.family",
            "db_bench does not run on postgres, the target of line all; set lines in the "
            "workload, or choose another family",
        ),
        (line() + workload() + '[quick]\nmeasure = "0s"', "10: quick.measure", "whole seconds"),
        (
            line() + workload("options = { maintian = 1 }"),
            "8: workload.options.maintian",
            "did you mean maintain?",
        ),
    ],
)
def test_a_mistake_found_while_planning_is_answered_with_its_line(
    text: str, place: str, said: str
) -> None:
    with pytest.raises(UserError) as caught:
        plan(text)
    message = str(caught.value)
    assert message.startswith(f"nightshift.toml:{place}: ")
    assert said in message
    assert "\n" not in message


def test_workloads_are_checked_without_knowing_any_release() -> None:
    with pytest.raises(UserError, match="did you mean scan"):
        check_workloads(config_file('[[workload]]\nname = "w"\nsteps = ["scam"]'))


def test_quick_steps_wait_for_the_first_workload() -> None:
    check_workloads(config_file('[quick]\nsteps = ["scan"]'))


COMMITS = [f"abcdef{number}{'0' * 33} {1_000_000_000 + number}" for number in range(8)]


@pytest.mark.parametrize(
    ("more", "chosen", "config"),
    [
        ("", range(8), "18"),
        ("newest = 2", (6, 7), "18"),
        ('major = "17"\nnewest = 1', (7,), "17"),
        (f'since = "{COMMITS[5][:12]}"', (5, 6, 7), "18"),
        (f'until = "{COMMITS[1][:38]}"', (0, 1), "18"),
        (f'since = "{COMMITS[2][:40]}"\nuntil = "{COMMITS[3][:40]}"', (2, 3), "18"),
        (f'revisions = ["{COMMITS[4][:40]}#2", "{COMMITS[4][:40]}"]', (4, 4), "18"),
    ],
)
def test_a_line_chooses_from_commits(more: str, chosen: Sequence[int], config: str) -> None:
    text = line(more=f'source = "git"\nrepository = "/somewhere"\n{more}') + workload()
    (offer,) = offers_of(config_file(text))
    assert offer.supply.coordinates == "/somewhere"
    found = {offer: revisions_of(offer, COMMITS)}
    planned = make_plan(config_file(text), found, [MACHINE], False)
    assert [each.order for each in planned.lines[0].revisions] == [(at,) for at in chosen]
    assert {cell.build_options for cell in planned.cells} == {"rel_o2nofp"}
    assert {f"Postgres {config}" in cell.config.text for cell in planned.cells} == {True}


def test_a_hash_that_fits_several_commits_names_none() -> None:
    offer = Offer("postgres", Postgres().supplies[-1])
    twins = revisions_of(offer, [f"abcdef01{number}{'0' * 31} 1" for number in range(2)])
    assert find_revision("abcdef01", twins) is None
    assert find_revision("abcdef011", twins) == twins[1]
    assert find_revision("abcdef", twins[:1]) is None, "too short"


def test_an_unknown_target_is_answered_with_its_line() -> None:
    with pytest.raises(UserError, match=r"toml:3: line\.target: .*did you mean postgres\?"):
        offers_of(config_file('[[line]]\nname = "x"\ntarget = "postgrez"'))


def test_a_target_whose_releases_are_not_known_yet() -> None:
    with pytest.raises(
        UserError, match="no release of postgres has been discovered; run `nightshift discover`"
    ):
        make_plan(config_file(line()), {}, [MACHINE], quick=False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('target = "postgrez"\nfile = "x"', "2: patch.target: there is no target 'postgrez'; did"),
        ('target = "postgres"\nfile = "none"', "3: patch.file: cannot be read ("),
    ],
)
def test_a_patch_that_cannot_be_used_is_answered_with_its_line(text: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        read_patches(config_file(f"[[patch]]\n{text}"))
    assert str(caught.value).startswith(f"nightshift.toml:{said}")


def test_profiled_runs_are_cells_of_their_own() -> None:
    """Recording costs the server something, so they must share no series with the others."""
    (plain,) = plan(line(more='revisions = ["17.11"]') + workload()).cells
    (wanted,) = plan(line(more='revisions = ["17.11"]') + workload("profile = true")).cells
    text = line(more='revisions = ["17.11"]') + workload()
    (switched,) = make_plan(config_file(text), known(), [MACHINE], False, profile=True).cells
    assert not plain.workload.profile
    assert wanted == switched
    assert wanted.workload.profile
    assert wanted.key != plain.key
    # What was measured before there were profiles keeps its identity.
    without = plain.workload.model_dump(mode="json", exclude_defaults=True)
    assert "profile" not in without
    assert plain.workload.hash == digest(without)
