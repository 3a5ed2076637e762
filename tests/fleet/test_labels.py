"""Names and labels: valid for any night and class, and never those of another."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.config_errors import LABEL
from pipeline.fleet.labels import (
    Malformed,
    ResourceMark,
    check_label,
    labels,
    night_name,
    read_mark,
    server_name,
)
from pipeline.text.errors import UserError
from tests.fakes.hetzner.selector import valid

LABELS = st.from_regex(LABEL, fullmatch=True)
HOSTNAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
MOMENTS = st.integers(1_500_000_000, 4_000_000_000).map(lambda at: datetime.fromtimestamp(at, UTC))


@given(LABELS, LABELS, LABELS, MOMENTS)
def test_what_is_written_is_valid_and_is_read(
    pipeline: str, night: str, machine_class: str, expires: datetime
) -> None:
    mark = ResourceMark(
        night=night, machine_class=machine_class, expires=expires.replace(microsecond=0)
    )
    written = labels(pipeline, mark)
    assert valid(written)
    assert read_mark(pipeline, written) == mark


@given(LABELS, LABELS, LABELS, st.integers(1, 999))
def test_names_are_names_of_hosts_and_of_runners(
    pipeline: str, night: str, machine_class: str, number: int
) -> None:
    name = server_name(pipeline, night, machine_class, number)
    assert HOSTNAME.fullmatch(name), name
    assert len(f"{name}-6") <= 64
    assert name == server_name(pipeline, night, machine_class, number)


@given(st.tuples(LABELS, LABELS), st.tuples(LABELS, LABELS), LABELS)
def test_no_night_begins_with_the_name_of_another(
    one: tuple[str, str], other: tuple[str, str], machine_class: str
) -> None:
    if one != other:
        name = server_name(*other, machine_class, 1)
        assert not name.startswith(f"{night_name(*one)}-")


def test_nights_that_look_alike_have_other_names() -> None:
    nights = [("a", "b-c"), ("a-b", "c"), ("A", "b-c"), ("a", "b.c"), ("a", "b_c"), ("a", "b")]
    assert len({night_name(*each) for each in nights}) == len(nights)
    classes = ["ccx13", "CCX13", "ccx.13", "ccx-13", "c" * 30, "c" * 31]
    assert len({server_name("a", "b", each, 1) for each in classes}) == len(classes)


@pytest.mark.parametrize("text", ["", "-a", "a-", "a b", "a/b", "ä", "a" * 64])
def test_what_cannot_be_a_label_is_one_line(text: str) -> None:
    with pytest.raises(
        UserError,
        match=(
            "is not a valid label of a server; use up to 63 letters, digits, dots, dashes and "
            "underscores, beginning and ending with a letter or digit"
        ),
    ):
        check_label("the night", text)


def test_what_is_not_ours_has_no_mark_and_what_is_malformed_says_so() -> None:
    assert read_mark("a", None) is None
    assert read_mark("a", {"nightshift": "b", "expires": "x"}) is None
    assert read_mark("a", {"nightshift": "a", "role": "hub"}) is None
    with pytest.raises(Malformed, match="expires"):
        read_mark("a", {"nightshift": "a"})
