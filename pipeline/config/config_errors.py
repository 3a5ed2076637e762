"""Turn errors in ``nightshift.toml`` into messages for users, with suggestions."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel
from pydantic_core import ErrorDetails

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
"""The pattern of a name in ``nightshift.toml``, for example of a line or a workload."""

VERSION = r"^(\d+(\.\d+)*((alpha|beta|rc)\d+)?|[0-9a-f]{7,64})?$"
"""The pattern of a version, a prefix of one (17), or a commit's hash; may be empty."""

NUMBERS = r"^\d+(\.\d+)+$"
"""The pattern of a release with all its numbers."""

SHA256 = r"^[0-9a-f]{64}$"
"""The pattern of a SHA-256."""

ARCHIVE = r"^(https?://[^@\s/]+/\S+|[^:\r\n]+)$"
"""The pattern of an archive's place: an address without a password, or a path."""

RECEIVER = r"^(https?://[^@\s]+)?$"
"""The pattern of a receiver's address, without a password; may be empty."""

ENDPOINT = r"^(https://[^\s/@]+/?|http://(127\.0\.0\.1|localhost)(:\d+)?/?)?$"
"""The pattern of an object storage's address: https, or http on loopback; may be empty."""

VARIABLE = r"^([A-Za-z_][A-Za-z0-9_]*)?$"
"""The pattern of an environment variable's name; may be empty."""

AGE = r"^[1-9]\d*[ywd]$"
"""The pattern of an age in years, weeks or days."""

HOST_PORT = r"^([^\s/@]+:\d+)?$"
"""The pattern of a host with a port; may be empty."""

ADDRESS = r"^(https?://\S+)?$"
"""The pattern of a page's address; may be empty."""

PACKAGE = r"^[a-z0-9][a-z0-9+.-]+$"
"""The pattern of a Debian package's name."""

LABEL = r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"
"""The pattern of a label's value at Hetzner Cloud."""

REPOSITORY = r"^([A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)?$"
"""The pattern of a repository on GitHub; may be empty."""

_EXPECTED = {
    NAME: "is not a name; write letters, digits, dots, dashes and underscores",
    VERSION: 'is not a version; write a version or its beginning, for example "17.4" or "17"',
    NUMBERS: 'is not a release; write all its numbers, for example "8.4.7"',
    SHA256: "is not a SHA-256; write its 64 digits, as sha256sum prints them",
    ARCHIVE: "is not the place of an archive; write an https address without a password, or a path",
    RECEIVER: (
        "is not the address of a receiver; write an address without a password, for example "
        '"http://127.0.0.1:9090/api/v1/write" (the password belongs in an environment '
        "variable)"
    ),
    VARIABLE: "is not the name of an environment variable; write letters, digits and underscores",
    ENDPOINT: 'is not the address of an object storage; write for example "https://s3.example.com"',
    PACKAGE: "is not the name of a Debian package; write for example sysbench",
    LABEL: (
        "is not a label; write up to 63 letters, digits, dots, dashes and underscores, "
        "beginning and ending with a letter or digit"
    ),
    REPOSITORY: 'is not a repository on GitHub; write OWNER/NAME, for example "me/bench"',
    AGE: 'is not an age; write a number and y, w or d, for example "5y"',
    ADDRESS: 'is not an address; write for example "https://bench.example/report.html"',
    HOST_PORT: 'is not a host with a port; write for example "127.0.0.1:9093"',
}


def wording(error: ErrorDetails) -> str:
    """Convert pydantic's error about a setting to a message for users."""
    at, context = error["loc"], error.get("ctx", {})
    match error["type"]:
        case "missing":
            problem = "is missing and has no default; set it"
        case "tuple_type" if len(at) == 1:
            problem = f"this table can appear several times; write [[{at[0]}]] above each"
        case "tuple_type":
            problem = 'is not a list; write it in brackets, for example ["a", "b"]'
        case "too_short":
            problem = "is an empty list; give at least one item"
        case "model_type":
            problem = f"this table can appear only once; write [{at[0]}] above it"
        case "string_pattern_mismatch":
            problem = f"{error['input']!r} {_EXPECTED[context['pattern']]}"
        case _:
            text = str(context.get("error", error["msg"]))
            problem = text[:1].lower() + text[1:]
    return problem


def settings_at(root: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """Return the names of all settings that a table of ``nightshift.toml`` can have."""
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
    """Return the message for a file that is not valid TOML, with the line."""
    found = re.search(r"\(at line (\d+)", str(error))
    line = int(found[1]) if found else len(text.splitlines())
    reason = re.sub(r"\s*\(at .*\)$", "", str(error))
    return f"{path}:{line}: not valid TOML: {reason[:1].lower()}{reason[1:]}"
