"""Names and labels of what is ours. Whatever lacks the label is never touched.

Values of labels are letters, digits, dots, dashes and underscores, at most 63 of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from pipeline.errors import UserError
from pipeline.mistakes import LABEL
from pipeline.model import Frozen

OURS, NIGHT, CLASS, EXPIRES, ROLE = "nightshift", "night", "class", "expires", "role"
"""The labels: the pipeline's name, and what its resource is for, until when."""

BENCH = "bench"
"""The role of what is made for a night, and deleted."""

_STAMP = "%Y%m%dT%H%M%SZ"
_NIGHT_LENGTH, _CLASS_LENGTH = 32, 18
"""Letters of a name that these take at most: a host's name has 63."""


class Malformed(Exception):
    """A label is not what we write."""


class Mark(Frozen):
    """What the labels of a resource of ours say. Of the night's own ones the class is empty."""

    night: str
    machine_class: str = ""
    expires: datetime


def check_label(what: str, value: str) -> str:
    """Return a value that can be a label. Raises UserError for any other."""
    if not re.fullmatch(LABEL, value):
        raise UserError(
            f"{what} {value!r} cannot be a label of a server; write up to 63 letters, digits, "
            "dots, dashes and underscores, the first and the last a letter or a digit"
        )
    return value


def labels(pipeline: str, mark: Mark) -> dict[str, str]:
    """Return the labels of what a pipeline of this name makes for a night."""
    about_class = {CLASS: mark.machine_class} if mark.machine_class else {}
    return {
        OURS: pipeline,
        NIGHT: mark.night,
        **about_class,
        EXPIRES: mark.expires.astimezone(UTC).strftime(_STAMP),
        ROLE: BENCH,
    }


def read_mark(pipeline: str, found: Mapping[str, str] | None) -> Mark | None:
    """Read the labels of a resource; None if it is not the pipeline's, or not made for a night.

    Raises Malformed where it is ours and does not say until when.
    """
    known = found or {}
    if known.get(OURS) != pipeline or known.get(ROLE, BENCH) != BENCH:
        return None
    stamp = known.get(EXPIRES, "")
    try:
        expires = datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
    except ValueError as error:
        raise Malformed(f"its label {EXPIRES} is {stamp!r}") from error
    return Mark(night=known.get(NIGHT, ""), machine_class=known.get(CLASS, ""), expires=expires)


def night_name(pipeline: str, night: str) -> str:
    """Return what the names of everything of a night begin with, and of no other night."""
    distinct = hashlib.sha256(f"{pipeline}/{night}".encode()).hexdigest()[:6]
    return f"{_part(f'{pipeline}-{night}')[:_NIGHT_LENGTH].strip('-')}-{distinct}"


def server_name(pipeline: str, night: str, machine_class: str, number: int) -> str:
    """Return the name of a server, which is always the same: so it is made once."""
    part = _part(machine_class)
    if part != machine_class or len(part) > _CLASS_LENGTH:
        distinct = hashlib.sha256(machine_class.encode()).hexdigest()[:4]
        part = f"{part[: _CLASS_LENGTH - 5].strip('-')}-{distinct}"
    return f"{night_name(pipeline, night)}-{part}-{number}"


def _part(text: str) -> str:
    """Return the letters, digits and dashes that a host's name may have."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
