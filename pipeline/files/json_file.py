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

    If ``damaged`` is given, an invalid file raises UserError, with ``damaged`` as the remedy.
    """
    try:
        return parse(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        if damaged:
            raise UserError(f"{path} is damaged; {damaged}") from error
        return None
