"""The tools (compilers, load generators) that a target needs here, and how to install them."""

from __future__ import annotations

import shutil
import subprocess
from typing import NamedTuple

from pipeline.model import Supply
from pipeline.targets import find_target

_PACKAGES = {"dpkg-deb": "dpkg", "apt-get": "apt", "tclsh": "tcl"}
"""The Debian package of each tool whose package has another name."""

_BY_KIND = {
    "git": (("git", "fetches the commits"),),
    "tags": (("git", "fetches the tags"),),
    "npm": (("npm", "fetches the package"),),
    "crate": (("cargo", "fetches the crate"),),
    "debian": (("apt-get", "fetches the packages"), ("dpkg-deb", "unpacks them")),
    "debian-source": (("apt-get", "fetches the source package"),),
}
"""The tools of each kind of source, each with its purpose."""

_COMPILING = (
    ("gcc", "compiles"),
    ("g++", "compiles"),
    ("make", "runs the build"),
    ("patch", "applies patches"),
    ("ccache", "caches compiled files, so that neighbouring commits build in seconds"),
)


class Need(NamedTuple):
    """A needed tool: its version if installed, its purpose, and how to install it."""

    tool: str
    version: str
    why: str
    how: str


def prerequisites_of(target: str, supply: Supply) -> list[Need]:
    """Return the tools that a target needs for this supply, whether installed or not."""
    wanted = list(_BY_KIND.get(supply.kind, ()))
    if not supply.prebuilt:
        wanted += _COMPILING
        wanted += find_target(target).tools
    return [
        Need(tool, _version(tool), why, f"apt-get install {_PACKAGES.get(tool, tool)}")
        for tool, why in dict(wanted).items()
    ]


def _version(tool: str) -> str:
    """Return the version that a tool prints; empty if the tool is not installed."""
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
    output = (shown.stdout or shown.stderr).strip()
    return output.splitlines()[0] if output else tool
