"""The empty database that every run of a build starts from, and copies of it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from pipeline.machine.account import Account
from pipeline.model import Build
from pipeline.targets.base import StartError
from pipeline.targets.base.programs import run_program
from pipeline.text.errors import UserError, first_line

USER = "nightshift"
"""The superuser of the database, whichever account runs the server."""
DATABASE = "sbtest"
"""The database that workloads fill."""


def make_template(
    build: Build, folder: Path, account: Account, fill: Callable[[Path], None]
) -> None:
    """Create the empty database in ``folder`` by calling ``fill``, unless it exists.

    ``fill`` gets the path of a folder to create, inside one that the account owns. The template
    appears complete or not at all. It is not synced to storage: a template lost in a power failure
    is created again.
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
            if not folder.exists():  # Another process has created it meanwhile.
                raise


def copy_template(template: Path, folder: Path, account: Account) -> None:
    """Copy an empty database to ``folder``, sharing its data where the file system can.

    Deletes the remains of a killed run first. Raises UserError if the copy fails, because the DBMS
    is not the cause.
    """
    if folder.exists():
        shutil.rmtree(folder)
    try:
        run_program(
            account,
            ["cp", "--archive", "--reflink=auto", "--", str(template), str(folder)],
            folder.parent,
            lambda output: first_line(Exception(output)) if output.strip() else "",
        )
    except StartError as error:
        raise UserError(
            f"the template {template} cannot be copied as the user {account.name} ({error}); "
            "delete the template: nightshift then creates it again"
        ) from error
