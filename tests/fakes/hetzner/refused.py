"""What the API says when it does not do what it is asked."""

from __future__ import annotations


class Refused(Exception):
    """An error as the API answers it."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code
