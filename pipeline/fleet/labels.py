"""Names and labels of rented servers. Resources without our label are never touched.

Label values are letters, digits, dots, dashes and underscores, at most 63 of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from pipeline.config.config_errors import LABEL
from pipeline.model import Frozen
from pipeline.text.errors import UserError

OURS, NIGHT, CLASS, EXPIRES, ROLE = "nightshift", "night", "class", "expires", "role"
"""The labels: the pipeline's name; the night, class and role of the resource; and its expiry."""

BENCH = "bench"
"""The role of resources that are created for a night, and deleted."""

_STAMP = "%Y%m%dT%H%M%SZ"
_NIGHT_LENGTH, _CLASS_LENGTH = 32, 18
"""Maximum lengths of night and machine class in a name: a host name has at most 63 characters."""


class Malformed(Exception):
    """A label in the cloud does not have the form that nightshift writes."""


class ResourceMark(Frozen):
    """What the labels of a cloud resource say: pipeline, night, machine class, expiry."""

    night: str
    machine_class: str = ""
    expires: datetime


def check_label(what: str, value: str) -> str:
    """Return a value if a label can hold it. Raises UserError otherwise."""
    if not re.fullmatch(LABEL, value):
        raise UserError(
            f"{what} {value!r} is not a valid label of a server; use up to 63 letters, digits, "
            "dots, dashes and underscores, beginning and ending with a letter or digit"
        )
    return value


def labels(pipeline: str, mark: ResourceMark) -> dict[str, str]:
    """Return the labels of a cloud resource that a pipeline creates for a night."""
    about_class = {CLASS: mark.machine_class} if mark.machine_class else {}
    return {
        OURS: pipeline,
        NIGHT: mark.night,
        **about_class,
        EXPIRES: mark.expires.astimezone(UTC).strftime(_STAMP),
        ROLE: BENCH,
    }


def read_mark(pipeline: str, found: Mapping[str, str] | None) -> ResourceMark | None:
    """Parse the labels of a cloud resource; None if nightshift did not create it for a night.

    Raises Malformed if nightshift created the resource, but its expiry label is invalid.
    """
    known = found or {}
    if known.get(OURS) != pipeline or known.get(ROLE, BENCH) != BENCH:
        return None
    stamp = known.get(EXPIRES, "")
    try:
        expires = datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
    except ValueError as error:
        raise Malformed(f"its label {EXPIRES} has the invalid value {stamp!r}") from error
    return ResourceMark(
        night=known.get(NIGHT, ""), machine_class=known.get(CLASS, ""), expires=expires
    )


def night_name(pipeline: str, night: str) -> str:
    """Return the prefix of all names of a night's resources, unique to the night."""
    distinct = hashlib.sha256(f"{pipeline}/{night}".encode()).hexdigest()[:6]
    return f"{_part(f'{pipeline}-{night}')[:_NIGHT_LENGTH].strip('-')}-{distinct}"


def server_name(pipeline: str, night: str, machine_class: str, number: int) -> str:
    """Return the name of a server, the same in every call, so that none is created twice."""
    part = _part(machine_class)
    if part != machine_class or len(part) > _CLASS_LENGTH:
        distinct = hashlib.sha256(machine_class.encode()).hexdigest()[:4]
        part = f"{part[: _CLASS_LENGTH - 5].strip('-')}-{distinct}"
    return f"{night_name(pipeline, night)}-{part}-{number}"


def _part(text: str) -> str:
    """Return a text with only the characters that a host name may have."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
