"""Names and flags of layouts."""

from __future__ import annotations

import pytest

from pipeline.measure.layouts import FLAGS, laid_out, split_layout, with_layout
from pipeline.model import BuildOptions


@pytest.mark.parametrize("number", range(1, len(FLAGS) + 1))
def test_a_layout_has_a_name_and_flags_of_its_own(number: int) -> None:
    options = BuildOptions(name="rel", flags="-O2")
    name = with_layout("rel", number)
    assert split_layout(name) == ("rel", number)
    laid = laid_out(options, number)
    assert (laid.name, laid.flags) == (name, f"-O2 {FLAGS[number - 1]}")


@pytest.mark.parametrize("name", ["rel", "official", "rel~0", "rel~3", "rel~x", "rel~", "rel~²"])
def test_other_names_have_no_layout(name: str) -> None:
    assert split_layout(name) == (name, 0)
    options = BuildOptions(name="rel")
    assert laid_out(options, 0) is options
