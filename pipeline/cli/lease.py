"""The verbs of `lease`, the exclusive use of this machine: status, take and break."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import add_group
from pipeline.cli.console import out, warn
from pipeline.cli.options import Format, FormatOption, read_option
from pipeline.cli.output import print_json
from pipeline.machine.lease import Lease, machine_lease
from pipeline.machine.lease_record import Claim
from pipeline.text.units import parse_duration
from pipeline.use_cases.lease import run_leased

group = add_group("lease")


@group.command("status")
def status_verb(form: FormatOption = Format.TEXT) -> None:
    """Show who holds the lease of this machine.

    Example: nightshift lease status
    """
    lease = machine_lease()
    claim = lease.file.read()
    if form is Format.JSON:
        print_json({"file": str(lease.file.path), "lease": claim and _described(claim, lease)})
    elif claim is None:
        out.print("the lease of this machine is free: nobody measures here")
    else:
        for line in _lines(claim, lease):
            out.print(line, markup=False)


@group.command("take")
def take_verb(
    command: Annotated[list[str], typer.Argument(help="The command to run, after two dashes.")],
    wait: Annotated[
        str, typer.Option("--wait", help="Maximum time to wait for the lease, for example 2h.")
    ] = "",
    purpose: Annotated[
        str,
        typer.Option(
            "--for", help="Purpose of the lease, shown to others. Default: the command's name."
        ),
    ] = "",
) -> None:
    """Run a command with exclusive use of this machine, and exit with its exit code.

    A nightshift that runs within the command uses the same lease.

    Example: nightshift lease take --wait 2h -- make nightly
    """
    seconds = read_option("wait", wait, parse_duration) if wait else 0.0
    raise typer.Exit(run_leased(command, purpose, seconds, warn))


@group.command("break")
def break_verb(
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Break the lease even if its owner is, or may be, still running."
        ),
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Remove an abandoned lease.

    Without --force, the lease is removed only if its owner ended, or if its owner is on another
    host and has not renewed it.

    Example: nightshift lease break
    """
    lease = machine_lease()
    claim = lease.break_(force=force)
    if form is Format.JSON:
        print_json({"broken": claim and _described(claim, lease)})
    elif claim is None:
        out.print("nobody holds the lease of this machine")
    else:
        out.print(
            f"broke the lease that process {claim.holders[0].pid} held for {claim.purpose}",
            markup=False,
        )


def _described(claim: Claim, lease: Lease) -> dict[str, object]:
    return {
        **claim.model_dump(mode="json"),
        "standing": claim.standing(lease.observer),
        "expired": lease.expired(claim),
    }


def _lines(claim: Claim, lease: Lease) -> list[str]:
    """Return text lines that say who holds the lease of this machine."""
    pids = ", ".join(str(each.pid) for each in claim.holders)
    expired = " (it has expired)" if lease.expired(claim) else ""
    return [
        f"leased for {claim.purpose} by process {pids} of {claim.place.host}",
        f"since {claim.since:%Y-%m-%d %H:%M} UTC, expires {claim.expires:%Y-%m-%d %H:%M} UTC"
        f"{expired} unless it is renewed",
        {
            "lives": "its owner is running",
            "gone": "its owner ended: the next process takes the lease",
            "unknown": "its owner runs elsewhere: whether it is alive is unknown",
        }[claim.standing(lease.observer)],
    ]
