"""Read a JSON file as a given type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from pipeline.text.errors import UserError

T = TypeVar("T")


def read_json(path: Path, parse: Callable[[bytes], T], damaged: str = "") -> T | None:
    """Return a JSON file as a given type; None if it is missing or invalid.

    With ``damaged``, which says what to do, a file that cannot be parsed raises UserError instead.
    """
    try:
        return parse(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        if damaged:
            raise UserError(f"{path} is damaged; {damaged}") from error
        return None
