"""What the API says when it does not do what it is asked."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """An error as the API answers it."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code

    @property
    def reported(self) -> dict[str, Any]:
        """The body of the answer."""
        return {"error": {"code": self.code, "message": str(self), "details": None}}
