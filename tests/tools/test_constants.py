"""The tables of docs/internals/constants.md: which constants they have, and what fails."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tools.constants import PAGE, Constant, constants_of, filled, modules


def found(source: str) -> list[Constant]:
    return list(constants_of(dedent(source)))


def test_a_constant_has_its_value_as_written_and_its_docstring() -> None:
    source = '''
        SLACK = 1.0 + 1e-9
        """Makes up for rounding,
        as ``x | y`` does."""
    '''
    assert found(source) == [
        Constant(("SLACK",), "1.0 + 1e-09", "Makes up for rounding, as `x &#124; y` does.")
    ]


@pytest.mark.parametrize(
    "statement",
    ["LOW, HIGH = 1, 2", "LENGTHS: tuple[int, ...] = (1, 2)", "LIMITS = np.array([1.0])", "N = -3"],
)
def test_tuples_arrays_and_signs_are_numeric(statement: str) -> None:
    (one,) = found(statement)
    assert one.reason == ""


@pytest.mark.parametrize(
    "statement",
    ['NAME = "a"', "SHOWN = True", "lower = 3", "SHAPE = Shape(3, 2)", "BY_NAME = {1: 2}", "A = B"],
)
def test_other_assignments_are_no_numeric_constants(statement: str) -> None:
    assert found(statement) == []


def test_a_long_table_is_shown_by_its_digest_which_every_number_changes() -> None:
    first, second = (
        found(f"TABLE = ({', '.join(map(str, numbers))})")[0].value
        for numbers in (range(20), [*range(19), 20])
    )
    assert first.startswith("20 numbers, SHA-256 ")
    assert first != second


def test_the_page_is_as_the_code_has_it() -> None:
    assert filled(PAGE.read_text()) == PAGE.read_text()
    assert len(modules()) > 40


def test_a_module_that_the_page_lacks_fails() -> None:
    lacking = PAGE.read_text().replace("<!-- constants of changepoint/noise.py -->", "")
    with pytest.raises(ValueError, match=r"changepoint/noise\.py"):
        filled(lacking)
