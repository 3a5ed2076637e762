"""The empty Postgres cluster that every run of a build starts from."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from pipeline.machine.account import Account
from pipeline.model import Build
from pipeline.targets.base.programs import run_program
from pipeline.targets.base.templates import DATABASE, USER
from pipeline.targets.postgres.releases import major_of

_NO_CHECKSUMS_FROM = 18


def fill(build: Build, account: Account, folder: Path) -> None:
    """Initialise ``folder`` as a Postgres cluster with an empty database."""
    run = partial(run_program, account, folder=folder.parent, complaint=last_complaint)
    run(initdb_command(build, folder))
    # A server of one process that reads its commands from standard input. It has no port and no
    # socket. It ends with a checkpoint, so that a copy starts without recovery.
    single = [f"{build.home}/bin/postgres", "--single", "-D", str(folder)]
    single += ["-c", "fsync=off", "postgres"]
    run(single, stdin=f"CREATE DATABASE {DATABASE}\n")


def initdb_command(build: Build, folder: Path) -> list[str]:
    """Return the command that creates a cluster with a build's ``initdb``.

    Only connections over the socket are trusted; the socket lies in a folder that nobody else may
    enter. Connections over loopback, which is open to every user of the machine, are rejected. Data
    checksums stay off, the default before 18, so that all majors do the same work.
    """
    # -N is --no-sync, which had another name before 10.
    command = [f"{build.home}/bin/initdb", "-D", str(folder), "-U", USER, "-N"]
    command += ["--encoding=UTF8", "--locale=C", "--auth-local=trust", "--auth-host=reject"]
    if major_of(build) >= _NO_CHECKSUMS_FROM:
        command.append("--no-data-checksums")
    return command


def last_complaint(text: str) -> str:
    """Return the last error line of a Postgres program's output, with its hint.

    A server prints FATAL or PANIC, sometimes followed by a HINT. For an invalid configuration file
    the FATAL line has no details; a LOG line before it names the file and line.
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


_NO_IO_URING = 'invalid value for parameter "io_method": "io_uring"'
_IO_URING_REFUSED = "could not setup io_uring"


def start_complaint(text: str) -> str:
    """Return why a server did not start, with advice if io_uring is not available."""
    if _NO_IO_URING in text:
        return (
            "this build has no io_uring; compile it with [[build]] configure = "
            '["--with-liburing"] and the package liburing-dev, or choose config x10b or x10c'
        )
    why = last_complaint(text)
    if _IO_URING_REFUSED in text:
        return (
            f"{why}; the kernel refuses io_uring: set the sysctl kernel.io_uring_disabled to 0, "
            "or choose config x10b or x10c"
        )
    return why
