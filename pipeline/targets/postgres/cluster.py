"""The empty database that every repetition of a build starts from, and copies of it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pipeline.errors import UserError
from pipeline.machine.account import Account
from pipeline.model import Build
from pipeline.targets.postgres.install import why_not

USER = "nightshift"
"""The superuser inside the server, whoever runs it."""
DATABASE = "sbtest"
"""The database that workloads fill."""
ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
"""All that the server's programs see of the environment: nothing that differs by user."""

_NO_CHECKSUMS_FROM = 18


def make_template(build: Build, folder: Path, account: Account) -> None:
    """Make ``folder`` an initialised cluster with the empty database, unless it is there.

    It appears complete or not at all. Nothing is forced to storage: a template lost with a
    power failure is made again.
    """
    if folder.exists():
        return
    account.check_reach(build.home)
    folder.parent.mkdir(parents=True, exist_ok=True)
    account.check_reach(folder.parent)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as beside:
        account.own(Path(beside))
        made = Path(beside) / "data"
        _run(account, initdb_command(build, made), made.parent)
        # A server of one process that reads its commands from standard input: no port, no
        # socket, and it ends with a checkpoint, so that a copy starts without recovery.
        single = [f"{build.home}/bin/postgres", "--single", "-D", str(made)]
        single += ["-c", "fsync=off", "postgres"]
        _run(account, single, made.parent, f"CREATE DATABASE {DATABASE}\n")
        made.rename(folder)


def initdb_command(build: Build, folder: Path) -> list[str]:
    """Return the initdb command of a build.

    Only its socket is trusted, which lies in a folder that nobody else may enter; loopback is
    open to every user of the machine, and is refused. Data checksums stay off, the default
    before 18, so that all majors do the same work.
    """
    command = [f"{build.home}/bin/initdb", "-D", str(folder), "-U", USER, "--no-sync"]
    command += ["--encoding=UTF8", "--locale=C", "--auth-local=trust", "--auth-host=reject"]
    if int(build.version.split(".")[0]) >= _NO_CHECKSUMS_FROM:
        command.append("--no-data-checksums")
    return command


def copy_template(template: Path, folder: Path, account: Account) -> None:
    """Copy a template to ``folder``, by reference where the file system can.

    What a killed run left there goes first.
    """
    if folder.exists():
        shutil.rmtree(folder)
    _run(
        account,
        ["cp", "--archive", "--reflink=auto", "--", str(template), str(folder)],
        folder.parent,
    )


def _run(account: Account, command: list[str], folder: Path, stdin: str = "") -> None:
    answer = subprocess.run(
        account.command(*command),
        input=stdin,
        capture_output=True,
        text=True,
        errors="replace",
        cwd=folder,
        env=dict(ENVIRONMENT),
        check=False,
    )
    complaint = last_complaint(answer.stderr)
    # The single-user server reports a failed statement and still ends with 0.
    if answer.returncode == 0 and "ERROR: " not in answer.stderr:
        return
    program = Path(command[0])
    if "No space left on device" in answer.stderr:
        raise UserError(
            f"no space left in {folder} for a database; free some, or set paths.cache in "
            "nightshift.toml to a folder with room"
        )
    if "loading shared libraries" in answer.stderr or "' not found (required" in answer.stderr:
        raise UserError(why_not(program, answer.returncode, answer.stderr))
    raise UserError(
        f"{program.name} failed in {folder} ({complaint or f'exit code {answer.returncode}'})"
    )


def last_complaint(text: str) -> str:
    """Return the last line that tells why a program of Postgres gave up, with its hint.

    A server says FATAL or PANIC, and may say what to do in a HINT that follows. About its
    configuration file FATAL only says that it is wrong, and a LOG line before says where.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    marks = ["PANIC: ", "FATAL: ", "ERROR: ", "error: "]
    found = [number for number, line in enumerate(lines) if any(mark in line for mark in marks)]
    if found and lines[found[-1]].endswith("contains errors"):
        marks = ["LOG: "]
        found = [number for number, line in enumerate(lines[: found[-1]]) if marks[0] in line]
    if not found:
        return lines[-1] if lines else ""
    last = found[-1]
    mark = next(mark for mark in marks if mark in lines[last])
    hints = [line for line in lines[last + 1 :] if "HINT: " in line][:1]
    parts = [lines[last].partition(mark)[2], *(hint.partition("HINT: ")[2] for hint in hints)]
    return "; ".join(part.strip() for part in parts)
