"""What a receiver answers: what may pass, in words that are fit to be shown."""

from __future__ import annotations

import pytest

from pipeline.publish.answer import LONGEST_REASON, ReceiverAnswer, one_line, retry_after


@pytest.mark.parametrize(
    ("answer", "taken", "may_pass", "text"),
    [
        (ReceiverAnswer(204, ""), True, False, "returned 204 No Content"),
        (ReceiverAnswer(429, "slower"), False, True, "returned 429 Too Many Requests (slower)"),
        (ReceiverAnswer(404, ""), False, False, "returned 404 Not Found"),
        (ReceiverAnswer(599, "no"), False, True, "returned 599 (no)"),
        (ReceiverAnswer(0, "cannot be reached"), False, True, "cannot be reached"),
    ],
)
def test_an_answer_says_whether_to_send_again(
    answer: ReceiverAnswer, taken: bool, may_pass: bool, text: str
) -> None:
    assert (answer.taken, answer.may_pass, str(answer)) == (taken, may_pass, text)


def test_a_wait_without_end_is_longer_than_any_patience() -> None:
    assert retry_after({"Retry-After": "9" * 400}) == float("inf")


def test_words_are_one_short_line() -> None:
    assert one_line("no \x1b[31m\n room ") == "no [31m room"
    assert one_line("x" * 999) == "x" * (LONGEST_REASON - 3) + "..."
