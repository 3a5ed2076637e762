"""Limit the total time of an HTTP request.

The timeouts of HTTP libraries start anew with every byte, so a peer that sends a byte now and then
would hold a night for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Thread
from typing import TypeVar

DEADLINE = 60.0
"""Seconds that a request may take in total."""

_Answer = TypeVar("_Answer")


def within(seconds: float, request: Callable[[], _Answer]) -> _Answer:
    """Return what a request returns; raise an error if it takes too long.

    Raises TimeoutError after ``seconds``. The request is abandoned then: its thread ends with the
    peer or with this process.
    """
    answer: Future[_Answer] = Future()

    def ask() -> None:
        try:
            answer.set_result(request())
        except BaseException as error:  # Raised in the thread that waits.
            answer.set_exception(error)

    Thread(target=ask, name="request", daemon=True).start()
    if not wait([answer], timeout=seconds).done:
        raise TimeoutError(f"sent no complete response within {seconds:g} s")
    return answer.result()
