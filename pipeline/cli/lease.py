"""The verbs of the machine's lease: status, take and break."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import err, out, warn
from pipeline.cli.options import Format, FormatOption, read_option
from pipeline.cli.output import print_json
from pipeline.errors import UserError
from pipeline.machine.account import contained
from pipeline.machine.claim import Claim
from pipeline.machine.lease import INHERITED, Lease, machine_lease
from pipeline.units import parse_duration

group = typer.Typer()
app.add_typer(group, name="lease")


@group.callback(invoke_without_command=True)
def lease_group(context: typer.Context) -> None:
    """Show who measures on this machine, or reserve it."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@group.command("status")
def status_verb(form: FormatOption = Format.TEXT) -> None:
    """Say who has the lease of this machine.

    Example: nightshift lease status
    """
    lease = machine_lease()
    claim = lease.file.read()
    if form is Format.JSON:
        print_json({"file": str(lease.file.path), "lease": claim and _described(claim, lease)})
    elif claim is None:
        out.print("nobody measures on this machine")
    else:
        for line in _told(claim, lease):
            out.print(line, markup=False)


@group.command("take")
def take_verb(
    command: Annotated[list[str], typer.Argument(help="What to run, after two dashes.")],
    wait: Annotated[
        str, typer.Option("--wait", help="Wait for the lease at most so long, as 2h.")
    ] = "",
    purpose: Annotated[
        str, typer.Option("--for", help="What others are told; by default the command's name.")
    ] = "",
) -> None:
    """Run a command that has this machine to itself, and exit as it does.

    What nightshift measures under it belongs to it.

    Example: nightshift lease take --wait 2h -- make nightly
    """
    seconds = read_option("wait", wait, parse_duration) if wait else 0.0
    for tool in (command[0], "setpriv"):
        if shutil.which(tool) is None:
            raise UserError(f"{tool} is not installed, or cannot be run; give another command")
    lease = machine_lease(purpose or command[0])
    with lease.held(seconds, warn):
        code = _run(command, lease.token)
    raise typer.Exit(code)


@group.command("break")
def break_verb(
    force: Annotated[
        bool, typer.Option("--force", help="Break it although its owner lives, or may live.")
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Remove a lease that was left. One whose owner is gone breaks without this, too.

    Refused while its owner lives, or may live elsewhere and has renewed it.

    Example: nightshift lease break
    """
    lease = machine_lease()
    claim = lease.break_(force=force)
    if form is Format.JSON:
        print_json({"broken": claim and _described(claim, lease)})
    elif claim is None:
        out.print("nobody has the lease of this machine")
    else:
        out.print(f"broken: process {claim.holders[0].pid}, for {claim.purpose}", markup=False)


def _run(command: list[str], token: str) -> int:
    """Run a command under a lease and return its exit code, as shells give it."""
    environ = {**os.environ, INHERITED: token}
    with subprocess.Popen(contained(command, death_signal="TERM"), env=environ) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt as stopped:
            # Of ctrl-C it knows: a second signal would interrupt it while it tidies up.
            if stopped.args:
                process.terminate()
            err.print("nightshift: waiting for the command to end", markup=False)
            process.wait()
            raise
    return code if code >= 0 else 128 - code


def _described(claim: Claim, lease: Lease) -> dict[str, object]:
    return {
        **claim.model_dump(mode="json"),
        "standing": claim.standing(lease.observer),
        "expired": lease.expired(claim),
    }


def _told(claim: Claim, lease: Lease) -> list[str]:
    """Return who has a lease, as lines."""
    pids = ", ".join(str(each.pid) for each in claim.holders)
    expired = " (it has)" if lease.expired(claim) else ""
    return [
        f"leased for {claim.purpose} by process {pids} of {claim.place.host}",
        f"since {claim.since:%Y-%m-%d %H:%M} UTC, expires {claim.expires:%Y-%m-%d %H:%M} UTC"
        f"{expired} unless it is renewed",
        {
            "lives": "its owner lives",
            "gone": "its owner is gone: the next one takes it",
            "unknown": "its owner cannot be seen from here",
        }[claim.standing(lease.observer)],
    ]
