"""What is said of a mistake in nightshift.toml: in the words of the file, with what was meant."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel
from pydantic_core import ErrorDetails

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
"""What a name is, as a pattern."""

VERSION = r"^(\d+(\.\d+)*|[0-9a-f]{7,64})?$"
"""What a version or the beginning of one is, or the hash of a commit; empty for none."""

RECEIVER = r"^(https?://[^@\s]+)?$"
"""What the address of a receiver is, without a password in it; empty for none."""

ENDPOINT = r"^(https://[^\s/@]+/?|http://(127\.0\.0\.1|localhost)(:\d+)?/?)?$"
"""What the address of an object storage is, never in the clear but on loopback; empty for none."""

VARIABLE = r"^([A-Za-z_][A-Za-z0-9_]*)?$"
"""What the name of an environment variable is; empty for none."""

AGE = r"^[1-9]\d*[ywd]$"
"""What an age is, in years, weeks or days."""

HOST_PORT = r"^([^\s/@]+:\d+)?$"
"""What a host with a port is; empty for none."""

ADDRESS = r"^(https?://\S+)?$"
"""What the address of a page is; empty for none."""

PACKAGE = r"^[a-z0-9][a-z0-9+.-]+$"
"""What the name of a Debian package is."""

LABEL = r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"
"""What the value of a label is at Hetzner Cloud."""

REPOSITORY = r"^([A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)?$"
"""What a repository on GitHub is; empty for none."""

_EXPECTED = {
    NAME: "is not a name; write letters, digits, dots, dashes and underscores",
    VERSION: 'is not a version; write one or the beginning of one, as "17.4" or "17"',
    RECEIVER: 'is no address of a receiver; write one as "http://127.0.0.1:9090/api/v1/write", and '
    "a password nowhere but in a variable",
    VARIABLE: "is not the name of an environment variable; write letters, digits and underscores",
    ENDPOINT: 'is no address of an object storage; write one as "https://s3.example.com"',
    PACKAGE: "is no Debian package; write its name, as sysbench",
    LABEL: "is no label; write up to 63 letters, digits, dots, dashes and underscores, the first "
    "and the last a letter or a digit",
    REPOSITORY: 'is no repository on GitHub; write its owner and its name, as "me/bench"',
    AGE: 'is not an age; write a number and y, w or d, as "5y"',
    ADDRESS: 'is no address; write one as "https://bench.example/report.html"',
    HOST_PORT: 'is no host with a port; write them as "127.0.0.1:9093"',
}


def wording(error: ErrorDetails) -> str:
    """Say a validation error in the words of the file."""
    at, context = error["loc"], error.get("ctx", {})
    match error["type"]:
        case "missing":
            said = "is missing, and there is no default"
        case "tuple_type" if len(at) == 1:
            said = f"there can be many of these; write [[{at[0]}]] above each"
        case "tuple_type":
            said = 'is not a list; write it in brackets, as ["a", "b"]'
        case "too_short":
            said = "is an empty list; put at least one thing in it"
        case "model_type":
            said = f"there is one table of these; write [{at[0]}] above it"
        case "string_pattern_mismatch":
            said = f"{error['input']!r} {_EXPECTED[context['pattern']]}"
        case _:
            text = str(context.get("error", error["msg"]))
            said = text[:1].lower() + text[1:]
    return said


def settings_at(root: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """Return the settings that may stand in the table at ``location``."""
    section = root
    for part in location:
        if isinstance(part, int):
            continue
        fields = {each.alias or name: each for name, each in section.model_fields.items()}
        annotation = fields[part].annotation
        inner = getattr(annotation, "__args__", (annotation,))[0]
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            break
        section = inner
    return [field.alias or name for name, field in section.model_fields.items()]


def toml_message(path: Path, text: str, error: tomllib.TOMLDecodeError) -> str:
    """Say where a text is not TOML, and why."""
    found = re.search(r"\(at line (\d+)", str(error))
    line = int(found[1]) if found else len(text.splitlines())
    reason = re.sub(r"\s*\(at .*\)$", "", str(error))
    return f"{path}:{line}: not valid TOML: {reason[:1].lower()}{reason[1:]}"
