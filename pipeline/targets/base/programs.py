"""Program files: which they are, what they call themselves, and why one does not run."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pipeline.errors import UserError, first_line
from pipeline.machine.account import Account
from pipeline.targets.base import StartError

ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
"""All that a server's programs see of the environment: nothing that differs by user."""


def program_hash(home: Path, folders: Sequence[str]) -> str:
    """Return the SHA-256 over paths and contents of the program files, in path order.

    ``folders`` are those whose files make a build what it is.
    """
    total = hashlib.sha256()
    for folder in folders:
        for path in sorted((home / folder).rglob("*")):
            if path.is_symlink():
                content = f"-> {path.readlink()}"
            elif path.is_file():
                with path.open("rb") as file:
                    content = hashlib.file_digest(file, "sha256").hexdigest()
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
    """Return what a program calls itself, as ``postgres (PostgreSQL) 17.11``, without its path.

    It sees our own environment unless another is given. ``command`` is what runs it, if it is not
    run as it is. Raises UserError when it does not run.
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
    # Some give their whole path, which is not yet the one that they will have.
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
) -> str:
    """Run a program of a build to its end in ``folder``, and return what it printed.

    It is the first word of the command unless ``program`` says which. ``complaint`` finds in
    what it said the reason why it failed. Raises UserError for a full disk, and StartError for
    a program that fails or does not run.
    """
    answer = subprocess.run(
        account.command(*command),
        input=stdin,
        capture_output=True,
        text=True,
        errors="replace",
        cwd=folder,
        env=dict(environment),
        check=False,
    )
    # A server that reads statements reports one that failed and may still end with 0.
    if answer.returncode == 0 and "ERROR: " not in answer.stderr:
        return answer.stdout
    program = program or Path(command[0])
    if "No space left on device" in answer.stderr:
        raise UserError(
            f"no space left in {folder} for a database; free some, or set paths.cache in "
            "nightshift.toml to a folder with room"
        )
    if "loading shared libraries" in answer.stderr or "' not found (required" in answer.stderr:
        raise StartError(why_not(program, answer.returncode, answer.stderr))
    reason = complaint(answer.stderr) or f"exit code {answer.returncode}"
    raise StartError(f"{program.name} failed in {folder} ({reason})")


def why_not(program: Path, code: int, complaint: str) -> str:
    """Return one line for a program that did not start, from what the loader said."""
    if found := re.search(r"loading shared libraries: (\S+?):", complaint):
        return (
            f"{program.name} needs the library {found.group(1)}, which this machine lacks; install "
            "the package that holds it and run again"
        )
    if found := re.search(r"version `(\S+?)' not found", complaint):
        return (
            f"{program.name} needs {found.group(1)}, newer than this machine's; leave that release "
            "out or use a newer system"
        )
    reason = first_line(Exception(complaint)) if complaint.strip() else f"exit code {code}"
    return f"{program.name} does not run here ({reason}); leave that release out"
