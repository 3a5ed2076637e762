"""What passes is waited for, longer and longer, and not forever."""

from __future__ import annotations

import pytest

from pipeline.fleet.retry import RetryPolicy, TransientError, UnreachableError
from pipeline.text.errors import UserError
from tests.fakes.site import Sleeps


def test_waits_double_up_to_the_longest_and_end_with_the_patience() -> None:
    sleeps, reported = Sleeps(), list[str]()
    policy = RetryPolicy(100.0, reported.append, lambda: sum(sleeps), sleeps)

    def never() -> None:
        raise TransientError("it is closed")

    with pytest.raises(UserError, match="it is closed; this lasted longer than 100 s"):
        policy.persist(never)
    assert sleeps == [1, 2, 4, 8, 16, 30, 30]
    assert reported == ["it is closed; trying again"], "once"


def test_a_service_that_does_not_respond_is_given_up_sooner_than_one_that_is_busy() -> None:
    sleeps = Sleeps()
    policy = RetryPolicy(100.0, clock=lambda: sum(sleeps), sleep=sleeps, unreachable=4.0)
    answers = iter([*["busy"] * 5, *["gone"] * 5])

    def attempt() -> None:
        answer = next(answers)
        raise TransientError(answer) if answer == "busy" else UnreachableError(answer)

    with pytest.raises(UserError, match="gone; this lasted longer than 4 s"):
        policy.persist(attempt)
    assert sleeps == [1, 2, 4, 8, 16], "the time of both counts"


def test_what_passes_is_answered_and_what_is_wrong_is_raised_at_once() -> None:
    sleeps = Sleeps()
    policy = RetryPolicy(100.0, clock=lambda: sum(sleeps), sleep=sleeps)
    answers = iter([TransientError("a"), TransientError("b"), None])

    def attempt() -> str:
        if (error := next(answers)) is not None:
            raise error
        return "done"

    assert policy.persist(attempt, longest=1.5) == "done"
    assert sleeps == [1, 1.5]
    with pytest.raises(ZeroDivisionError):
        policy.persist(lambda: 1 / 0)
    assert len(sleeps) == 2
