"""The empty database that every repetition of a build starts from, and copies of it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from pipeline.errors import first_line
from pipeline.machine.account import Account
from pipeline.model import Build
from pipeline.targets.base.programs import run_program

USER = "nightshift"
"""The superuser inside the server, whoever runs it."""
DATABASE = "sbtest"
"""The database that workloads fill."""


def make_template(
    build: Build, folder: Path, account: Account, fill: Callable[[Path], None]
) -> None:
    """Make ``folder`` the database that ``fill`` makes, unless it is there.

    ``fill`` is given a folder of the account's that does not exist yet. The template appears
    complete or not at all. Nothing need be forced to storage: a template lost with a power
    failure is made again.
    """
    if folder.exists():
        return
    account.check_reach(build.home)
    folder.parent.mkdir(parents=True, exist_ok=True)
    account.check_reach(folder.parent)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as beside:
        account.own(Path(beside))
        made = Path(beside) / "data"
        fill(made)
        try:
            made.rename(folder)
        except OSError:
            if not folder.exists():  # Another process has made it meanwhile.
                raise


def copy_template(template: Path, folder: Path, account: Account) -> None:
    """Copy a template to ``folder``, by reference where the file system can.

    What a killed run left there goes first.
    """
    if folder.exists():
        shutil.rmtree(folder)
    run_program(
        account,
        ["cp", "--archive", "--reflink=auto", "--", str(template), str(folder)],
        folder.parent,
        lambda said: first_line(Exception(said)) if said.strip() else "",
    )
