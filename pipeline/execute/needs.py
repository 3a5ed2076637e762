"""What a target needs of this machine: tools, their versions, and how a missing one is had."""

from __future__ import annotations

import shutil
import subprocess
from typing import NamedTuple

from pipeline.model import Supply
from pipeline.targets import find_target

_PACKAGES = {"dpkg-deb": "dpkg", "apt-get": "apt", "tclsh": "tcl"}
"""The Debian package of a tool that is not in one of its own name."""

_BY_KIND = {
    "git": (("git", "fetches the commits"),),
    "tags": (("git", "fetches the tags"),),
    "npm": (("npm", "fetches the package"),),
    "crate": (("cargo", "fetches the crate"),),
    "debian": (("apt-get", "fetches the packages"), ("dpkg-deb", "unpacks them")),
    "debian-source": (("apt-get", "fetches the source package"),),
}
"""The tools of each kind of source, with what they are for."""

_COMPILING = (
    ("gcc", "compiles"),
    ("g++", "compiles"),
    ("make", "runs the build"),
    ("patch", "applies patches"),
    ("ccache", "makes neighbouring commits build in seconds"),
)


class Need(NamedTuple):
    """A tool, its version (empty if it is missing), why it is needed and how it is had."""

    tool: str
    version: str
    why: str
    how: str


def needs_of(target: str, supply: Supply) -> list[Need]:
    """Return the tools that a target from this supply needs, those that are here too."""
    wanted = list(_BY_KIND.get(supply.kind, ()))
    if not supply.prebuilt:
        wanted += _COMPILING
        wanted += find_target(target).tools
    return [
        Need(tool, _version(tool), why, f"apt-get install {_PACKAGES.get(tool, tool)}")
        for tool, why in dict(wanted).items()
    ]


def _version(tool: str) -> str:
    """Return what a tool calls itself; empty if it is not here."""
    if shutil.which(tool) is None:
        return ""
    shown = subprocess.run(
        [tool, "--version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    said = (shown.stdout or shown.stderr).strip()
    return said.splitlines()[0] if said else tool
