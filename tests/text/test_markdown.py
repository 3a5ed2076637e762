from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pipeline.text.markdown import BREAK, LONGEST, cell, code, fenced, inert, linked

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])

ACTS = re.compile(
    r"@\w|#\d|\bgh-\d|://|\bwww\.|\b(?:mailto|xmpp):\w|<!|##\[|^\s*::", re.IGNORECASE | re.MULTILINE
)
"""What GitHub, the runner of a workflow or a chat would make more of than text."""

ACTS_IN_CODE = re.compile(r"<!|##\[|^\s*::", re.MULTILINE)

PIECES = (
    *"@#:/<>!&;|`*_~$[](){}\\ \n\t\r\u2028\u202e\u200b=+-.1aZ",
    *("me", "::error::", "##[group]", "<!-- nightshift regression 1 -->", "https://x.example"),
    *("owner/repo#12", "GH-3", "www.x.example", "mailto:me", "&#64;me", "&lt;", "```", "~~~"),
    *("![a](b)", "[a]: b", "<img src=x>", "</details>", "- a", "1. a", "/close", "**a**", "---"),
)
HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12).map("".join)


class Seen(HTMLParser):
    """The text of a page, and the names of its elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.elements, self.comments = "", list[str](), 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.comments += 1


def seen(markdown: str) -> Seen:
    return Seen(MARKDOWN.render(markdown))


@given(HOSTILE)
def test_inert_text_is_one_line_that_does_nothing(text: str) -> None:
    made = inert(text)
    assert not ACTS.search(made)
    assert made.replace(BREAK, "").isprintable()
    assert len(made.replace(BREAK, "")) <= LONGEST


@given(HOSTILE)
@example("&#64;me")
@example("a\\")
@example("__a_")
@example("1) a")
def test_text_reads_as_itself_at_the_beginning_of_a_line_and_within_one(text: str) -> None:
    assert "\n" not in cell(text)
    assert "<!" not in cell(text), "a marker is looked for in what is not rendered"
    for before in ("", "- ", "### ", "word "):
        found = seen(f"{before}{cell(text)}")
        assert set(found.elements) <= {"p", "ul", "li", "h3"}
        assert found.text.strip() == f"{before.strip('-# ')} {inert(text)}".strip()
        assert not ACTS.search(found.text)


@given(HOSTILE, HOSTILE)
@example("a\\|b", "c")
@example("a\\", "`")
def test_text_stays_in_its_cell(one: str, other: str) -> None:
    for row in (f"| {cell(one)} | {cell(other)} |", f"| {code(one, table=True)} | {cell(other)} |"):
        found = MARKDOWN.render(f"| a | b |\n| - | - |\n{row}\n| c | d |\n")
        assert found.count("<tr>") == 3
        assert found.count("<td>") == 4
        assert set(seen(found).elements) <= {"table", "thead", "tbody", "tr", "th", "td", "code"}


@given(HOSTILE)
def test_code_reads_as_itself(text: str) -> None:
    found = seen(f"word {code(text)}")
    assert set(found.elements) <= {"p", "code"}
    made = found.text.removeprefix("word").strip().replace(BREAK, "")
    visible = "".join(" " if each.isspace() else each for each in text)
    assert made == " ".join("".join(filter(str.isprintable, visible)).split())
    assert not ACTS_IN_CODE.search(found.text)


@given(HOSTILE)
def test_a_block_of_code_ends_where_it_should(text: str) -> None:
    found = seen(f"{fenced(text, 'diff')}\n\nafter\n")
    assert found.elements == ["pre", "code", "p"]
    assert found.text.endswith("after\n")
    assert not ACTS_IN_CODE.search(fenced(text))


def test_ordinary_text_stays_as_it_is() -> None:
    for text in (
        "scan_range=100",
        "hot-points_range=10000",
        "16.1",
        "postgresql.conf: 8 MB, -1",
        "-1",
        "0.950",
        "std::vector<int>::push_back",
        "Fix (a) + b - c (A. Person)",
    ):
        assert seen(cell(text)).text.strip() == text
        assert inert(text) == text
        assert code(text) == f"`{text}`"
    assert cell("scan_range=100") == "scan_range=100"


def test_cells_are_one_line() -> None:
    assert cell("a | b\n\tc") == "a \\| b c"
    assert cell("back\\slash") == "back\\\\slash"


def test_what_is_too_long_is_cut() -> None:
    assert inert("a" * LONGEST) == "a" * LONGEST
    assert inert("a" * (LONGEST + 1)) == "a" * (LONGEST - 1) + "…"


def test_what_turns_the_direction_of_writing_is_left_out() -> None:
    assert inert("a\u202ec\u200b") == "ac"
    assert code("a\u202ec") == "`ac`"
    assert "\u202e" not in fenced("a\u202ec\n\td")


@pytest.mark.parametrize("text", ["", "\u202e", "\n"])
def test_nothing_is_no_code(text: str) -> None:
    assert code(text) == ""


def test_a_link_is_one_where_there_is_an_address() -> None:
    assert linked("`a`", "https://x.example/a") == "[`a`](<https://x.example/a>)"
    assert linked("`a`", "") == "`a`"
