"""A table of cases as one test: no failure is hidden by another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import every_case


def test_every_case_that_fails_is_reported() -> None:
    seen = []

    @every_case(("number", "name"), [(1, "one"), (2, "two"), pytest.param(3, "three", id="last")])
    def check(number: int, name: str) -> None:
        seen.append(name)
        if number == 2:
            pytest.fail("not two")
        assert number < 3

    with pytest.raises(BaseExceptionGroup, match="2 of 3 cases failed") as failed:
        check()
    assert seen == ["one", "two", "three"]
    notes = [note for error in failed.value.exceptions for note in error.__notes__]
    assert notes == ["case (2, 'two')", "case last"]


@every_case("text", ["a", "b"])
@every_case("number", [1, 2])
def test_tables_multiply_and_each_case_has_a_folder(tmp_path: Path, text: str, number: int) -> None:
    assert list(tmp_path.iterdir()) == []
    (tmp_path / f"{text}{number}").touch()


def test_a_table_without_cases_is_refused() -> None:
    with pytest.raises(AssertionError, match="shows nothing"):
        every_case("name", [])
