"""A lock, so that two processes that create servers do not exceed the budget together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pipeline.files.lock import LockHeldError, held
from pipeline.fleet.retry import RetryPolicy, TransientError
from pipeline.text.errors import UserError

FILE = ".fleet.lock"
"""The file name in the results folder, beside the record of servers that budgets use."""


@contextmanager
def creation_lock(results: Path, policy: RetryPolicy) -> Iterator[None]:
    """Wait until no other process creates servers, and keep others out meanwhile.

    Raises UserError if the other process takes longer than the policy's patience, and if the folder
    is not writable.
    """
    with ExitStack() as stack:
        try:
            policy.persist(lambda: _take(results / FILE, stack))
        except OSError as error:
            raise UserError(
                f"{error.filename} cannot be written ({error.strerror}), so no server is "
                "created: each must be recorded there; set paths.results to a writable folder"
            ) from error
        yield


def _take(lock: Path, stack: ExitStack) -> None:
    try:
        stack.enter_context(held(lock, patience=0))
    except LockHeldError as error:
        raise TransientError(f"another nightshift ({error}) is creating servers") from error
