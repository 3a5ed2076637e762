"""Addresses of git repositories, and where the cache keeps their copies."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from pipeline.files.address import folder_at

_REMOTE = re.compile(
    # A host that begins with a dash would be an option of ssh.
    r"(?:https?|git|ssh)://[^\s/-]\S*"
    # name@host:path; a second colon would name a program.
    r"|[\w.-]+@\w[\w.-]*:(?!:)\S+"
)
_LOCAL = re.compile(r"(?:file:/)?/\S.*")


def absolute(address: str) -> str:
    """Return the address of a repository; that of a local folder as an absolute path."""
    folder = folder_at(address)
    return str(folder.absolute()) if folder is not None else address


def place_in_cache(address: str, cache: Path, suffix: str) -> Path:
    """Return the folder of the cache for a copy of a repository."""
    return cache / "git" / f"{hashlib.sha256(address.encode()).hexdigest()[:16]}{suffix}"


def is_local(address: str) -> bool:
    """Return whether an address is a path on this machine."""
    return _LOCAL.fullmatch(address) is not None


def submodule_address(url: str, base: str) -> str | None:
    """Return the address of a submodule from its URL in a repository at ``base``.

    A relative URL begins with ``./`` or ``../``, as in git. Return None for an address that may not
    be used: one that runs a program or begins an option, and a path on this machine in a repository
    from elsewhere.
    """
    if url.startswith(("./", "../")):
        joined = _joined(base, url)
        if joined is None:
            return None
        url = joined
    allowed = _REMOTE.fullmatch(url) or (is_local(base) and is_local(url))
    return url if allowed else None


def _joined(base: str, url: str) -> str | None:
    """Resolve a relative URL; None if it leads above the host or the root folder."""
    base, separator = base.rstrip("/"), "/"
    while url.startswith(("./", "../")):
        step, _, url = url.partition("/")
        if step == ".":
            continue
        if "/" in base:
            base = base.rpartition("/")[0]
        elif ":" in base and separator == "/":
            base, separator = base.rpartition(":")[0], ":"
        else:
            return None
    return f"{base}{separator}{url}".rstrip("/")
