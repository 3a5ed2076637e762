from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.notify.github.issue_text import (
    ROOM,
    TITLE_ROOM,
    begin,
    end,
    fingerprint_in,
    fit,
    ours,
    title,
    with_ours,
)

around = st.text(alphabet=st.sampled_from("ab#<!->`\r\n "), max_size=60)
bodies = st.text(alphabet=st.sampled_from("xy|*`\n "), max_size=80)


@given(before=around, after=around, old=bodies, new=bodies)
def test_only_our_part_changes(before: str, after: str, old: str, new: str) -> None:
    text = before + ours("aa", old) + after
    assert with_ours(text, "aa", new) == before + ours("aa", new) + after


@given(before=around, body=bodies)
def test_an_issue_says_which_regression_it_is_of(before: str, body: str) -> None:
    assert fingerprint_in(before + ours("aa", body)) == "aa"
    assert fingerprint_in(before + body) == fingerprint_in(None) == ""


def test_people_who_take_a_marker_away_keep_what_they_wrote() -> None:
    text = ours("aa", "old").replace(end("aa"), "Really slow.")
    now = with_ours(text, "aa", "new")
    assert now == f"\nold\nReally slow.\n\n{ours('aa', 'new')}"
    assert with_ours(now, "aa", "newer") == f"\nold\nReally slow.\n\n{ours('aa', 'newer')}"
    assert with_ours(None, "aa", "new") == ours("aa", "new")


def test_a_quotation_of_our_part_below_it_stays() -> None:
    quoted = "\n> " + ours("aa", "old").replace("\n", "\n> ")
    assert with_ours(ours("aa", "old") + quoted, "aa", "new") == ours("aa", "new") + quoted


@given(
    lines=st.lists(st.sampled_from(["```sh", "```", "~~~~", "<details>", "</details>", "row " * 9]))
)
def test_what_is_cut_ends_at_a_line_with_a_word_about_it(lines: list[str]) -> None:
    text = "\n".join(lines)
    short = fit(text, 200)
    assert len(short) <= 200
    if len(text) <= 200:
        assert short == text
        return
    kept, _, word = short.rpartition("\n\n")
    assert "left out" in word
    # What is left is whole lines, and behind them what closes what was open.
    whole = [line for line in kept.splitlines() if line]
    same = sum(1 for mine, theirs in zip(whole, lines, strict=False) if mine == theirs)
    assert set(whole[same:]) <= {"```", "~~~~", "</details>"}


def test_a_fence_and_a_fold_that_are_cut_are_closed() -> None:
    text = "<details>\n\n````text\n" + "line\n" * 99
    cut = fit(text, 150)
    assert cut.endswith(
        "line\n````\n\n</details>\n\n*The rest is left out: GitHub takes no more "
        "than 65,536 characters.*"
    )


def test_a_body_is_never_longer_than_github_takes() -> None:
    long = "| a row of a table |\n" * 10_000
    assert len(ours("aa", long)) <= ROOM
    mine = "what people wrote\n" * 1000
    text = with_ours(mine + ours("aa", "old"), "aa", long)
    assert text is not None and text.startswith(mine) and len(text) <= ROOM
    assert text.endswith(end("aa")) and "left out" in text


def test_where_people_left_no_room_their_text_stays_as_it_is() -> None:
    text = "x" * (ROOM - 90) + ours("aa", "old")
    assert with_ours(text, "aa", "new " * 99) is None
    assert begin("aa") in text


def test_a_title_has_one_line_and_is_no_longer_than_github_takes() -> None:
    assert title("a\n b") == "a b"
    assert len(title("x" * 999)) == TITLE_ROOM
