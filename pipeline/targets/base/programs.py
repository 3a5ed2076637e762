"""Program files of a build: their hash, their version, and why a program does not run."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pipeline.files.checksum import sha256
from pipeline.machine.account import Account
from pipeline.targets.base import StartError
from pipeline.text.errors import UserError, first_line

ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
"""The whole environment of a server's programs, the same for every user."""


def program_hash(home: Path, folders: Sequence[str]) -> str:
    """Return the SHA-256 of all program files of a build, over paths and contents.

    ``folders`` are the folders whose files define the build.
    """
    total = hashlib.sha256()
    for folder in folders:
        for path in sorted((home / folder).rglob("*")):
            if path.is_symlink():
                content = f"-> {path.readlink()}"
            elif path.is_file():
                content = sha256(path)
            else:
                continue
            total.update(f"{path.relative_to(home).as_posix()}\0{content}\n".encode())
    return total.hexdigest()


def reported_version(
    program: Path,
    account: Account,
    environment: Mapping[str, str] | None = None,
    command: Sequence[str] = (),
) -> str:
    """Return the version that a program prints, as ``postgres (PostgreSQL) 17.11``.

    ``environment`` replaces the environment of this process. ``command`` runs the program, by
    default the program alone. Raises UserError if the program does not run.
    """
    account.check_reach(program.parent)
    answer = subprocess.run(
        account.command(*(command or (str(program),)), "--version"),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=None if environment is None else dict(environment),
        check=False,
    )
    if answer.returncode:
        raise UserError(why_not(program, answer.returncode, answer.stderr))
    # Some print their full path, which is not yet the final one.
    return re.sub(r"^\S*/", "", answer.stdout.strip())


def run_program(
    account: Account,
    command: Sequence[str],
    folder: Path,
    complaint: Callable[[str], str],
    *,
    stdin: str = "",
    environment: Mapping[str, str] = ENVIRONMENT,
    program: Path | None = None,
    limit: Sequence[str] = (),
) -> str:
    """Run a program of a build in ``folder`` to its end and return its output.

    ``program`` names it in errors, if it is not the first word of the command. ``limit`` is a
    command prefix that limits the memory of the program. ``complaint`` extracts the reason of a
    failure from standard error. Raises UserError for a full disk, and StartError for a program that
    fails or does not run.
    """
    answer = subprocess.run(
        account.command(*command, limit=limit),
        input=stdin,
        capture_output=True,
        text=True,
        errors="replace",
        cwd=folder,
        env=dict(environment),
        check=False,
    )
    # A server that reads statements reports a failed one and may still exit with 0.
    if answer.returncode == 0 and "ERROR: " not in answer.stderr:
        return answer.stdout
    program = program or Path(command[0])
    if "No space left on device" in answer.stderr:
        raise UserError(
            f"no space left in {folder} for a database; free some space, or set paths.cache in "
            "nightshift.toml to a folder with more space"
        )
    if "loading shared libraries" in answer.stderr or "' not found (required" in answer.stderr:
        raise StartError(why_not(program, answer.returncode, answer.stderr))
    reason = complaint(answer.stderr) or f"exit code {answer.returncode}"
    raise StartError(f"{program.name} failed in {folder} ({reason})")


def why_not(program: Path, code: int, complaint: str) -> str:
    """Return why a program did not start, in one line, from the output of the dynamic loader."""
    if found := re.search(r"loading shared libraries: (\S+?):", complaint):
        return (
            f"{program.name} needs the library {found.group(1)}, which is not installed; "
            "install its package and run again"
        )
    if found := re.search(r"version `(\S+?)' not found", complaint):
        return (
            f"{program.name} needs {found.group(1)}, which is newer than this system's; leave "
            "this release out, or use a newer system"
        )
    reason = first_line(Exception(complaint)) if complaint.strip() else f"exit code {code}"
    return f"{program.name} does not run on this machine ({reason}); leave this release out"
