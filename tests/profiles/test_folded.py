"""Folding, on what perf printed of a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.profiles.folded import dump_folded, fold, load_folded

RECORDED = (Path(__file__).parent / "data" / "perf-script.txt").read_text()


def test_stacks_are_counted_from_the_root_to_the_leaf() -> None:
    assert fold(RECORDED.splitlines(keepends=True)) == {
        "postgres;__send;__schedule_[k];finish_task_switch.isra.0_[k]": 1,
        "postgres;[unknown];hash_search_with_hash_value": 2,
        "mariadbd;PQgetResult;[libpq.so.5.15]": 1,
        "ib_pg_flush-1 a;std::map<int, long>::find(int const&) const;"
        "buf_flush_list(unsigned long, (anonymous namespace)::x)": 1,
    }


def test_a_sample_without_a_stack_is_its_thread() -> None:
    assert fold(["postgres \n", "\n", "postgres \n"]) == {"postgres": 2}
    assert fold([]) == fold(["\n", "\n"]) == {}


def test_what_separates_is_no_part_of_a_name() -> None:
    lines = ["a;b \n", "\t 10 f;g (/bin/x)\n", "\n"]
    assert fold(lines) == {"a:b;f:g": 1}


def test_what_a_program_compiled_as_it_ran_is_the_same_in_every_run() -> None:
    first, second = (
        fold(["sysbench \n", f"\t 10 [unknown] (/tmp/perf-{pid}.map)\n", "\n"])
        for pid in (14276, 14441)
    )
    assert first == second == {"sysbench;[jit]": 1}


def test_folded_stacks_survive_being_written() -> None:
    stacks = fold(RECORDED.splitlines())
    text = dump_folded(stacks)
    assert text.splitlines() == sorted(text.splitlines())
    assert "postgres;[unknown];hash_search_with_hash_value 2\n" in text
    assert load_folded(text) == stacks
    with pytest.raises(ValueError, match="invalid literal"):
        load_folded("no number at its end")
