"""Run git with our settings only, and report errors in one line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from pipeline.text.errors import UserError

PATIENCE = 3600.0
"""Seconds after which a transfer is aborted."""

_SETTINGS = (
    # A foreign repository is only read; its hooks and settings do not run.
    "-c",
    "safe.directory=*",
    "-c",
    "core.fsmonitor=false",
)
_PROTOCOLS = "file:git:http:https:ssh"
"""The transports that git may use. Others, such as ext, run a program that the address names."""


def run_git(folder: Path | None, *arguments: str, address: str = "") -> str:
    """Run git and return its output.

    Raises UserError, in one line, if git fails; the message names ``address``, or else the folder.
    """
    place = ["-C", str(folder)] if folder else []
    try:
        answer = subprocess.run(
            ["git", *_SETTINGS, *place, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            # A password prompt would wait forever.
            env={
                **os.environ,
                "GIT_TERMINAL_PROMPT": "0",
                "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
                "LC_ALL": "C",
            },
            timeout=PATIENCE,
            check=False,
        )
    except FileNotFoundError as error:
        raise UserError("git is not installed; install the package git") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(
            f"{address or folder} did not answer within {PATIENCE:.0f} s; run again later"
        ) from error
    if answer.returncode:
        lines = [line for line in answer.stderr.splitlines() if line.strip()]
        fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
        message = (fatal or lines or ["git failed"])[0].removeprefix("fatal: ")
        raise UserError(
            f"{address or folder} cannot be read ({message}); check the address and the network, "
            "and run again"
        )
    return answer.stdout


def knows_commit(folder: Path, name: str) -> bool:
    """Return whether a git repository has a commit, branch or tag."""
    return knows_object(folder, f"{name}^{{commit}}")


def knows_object(folder: Path, name: str) -> bool:
    """Return whether a git repository has an object, for example ``COMMIT:PATH``."""
    asked = ("rev-parse", "--quiet", "--verify", "--end-of-options", name)
    answer = subprocess.run(
        ["git", *_SETTINGS, "-C", str(folder), *asked], capture_output=True, check=False
    )
    return answer.returncode == 0
