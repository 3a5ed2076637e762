"""The verbs of `fleet`, about rented bench servers, from the quote to the reaper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import add_group
from pipeline.cli.console import err, fail, is_quiet, out
from pipeline.cli.cost_lines import cost_lines
from pipeline.cli.options import ConfigOption, Format, FormatOption, read_option
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.fleet.fleet import FleetStatus
from pipeline.fleet.quote import Quote, QuoteRefusedError, check_budgets
from pipeline.fleet.resources import Swept
from pipeline.storage.journal import now
from pipeline.text.errors import UserError
from pipeline.text.units import (
    Money,
    parse_duration,
    plural,
    show_duration,
    show_money,
    show_small_money,
)
from pipeline.use_cases.context import Context
from pipeline.use_cases.costs import bills_of
from pipeline.use_cases.drift import report_drift
from pipeline.use_cases.fleet import fleet_of, has_servers, order_night, reap
from pipeline.use_cases.planning import PlanningContext

group = add_group("fleet")

NightArgument = Annotated[
    str, typer.Argument(help="Name of the night, for example the id of a workflow run.")
]
_NO_SERVERS = "no [[class]] has a server_type, so nights use no cloud servers"

TtlOption = Annotated[
    str,
    typer.Option(
        "--ttl", help="Time to live of the servers, for example 3h. Default: [fleet] ttl."
    ),
]


@group.command("quote")
def quote_verb(
    config: ConfigOption = DEFAULT_FILE,
    night: Annotated[
        str,
        typer.Option(
            "--night",
            help="Quote only the servers that this night needs for the runs that are left.",
        ),
    ] = "",
    variables: Annotated[
        Path | None,
        typer.Option(
            "--variables",
            metavar="FILE",
            help="With --night: register the runners, and write the Terraform variables to this "
            "file, which contains secrets. No file is written if the night needs no server.",
        ),
    ] = None,
    attempt: Annotated[
        int,
        typer.Option(
            "--attempt",
            min=1,
            help="Number of this attempt to create the servers; each attempt tries another "
            "location or server type.",
        ),
    ] = 1,
    ttl: TtlOption = "",
    form: FormatOption = Format.TEXT,
) -> None:
    """Print the price of the servers of a night; create nothing.

    The exit code is 1 if a budget, the time to live or the capacity does not allow the night.

    Example: nightshift fleet quote --ttl 4h
    """
    if variables is not None and not night:
        raise UserError("--variables needs --night, the name of the night whose servers it writes")
    try:
        if night:
            _quote_night(config, night, variables, attempt, ttl, form)
        else:
            _quote_all(config, ttl, form)
    except QuoteRefusedError as refusal:
        fail(str(refusal))
        raise typer.Exit(1) from refusal


def _quote_all(config: Path, ttl: str, form: Format) -> None:
    context = Context(config)
    asked = fleet_of(context, _note, quick=True).quote(seconds=_seconds(ttl))
    _print_quote(asked, context, form)
    if None not in (context.config.fleet.per_night, context.config.fleet.per_month):
        check_budgets(asked, context.config.fleet)


def _quote_night(
    config: Path, night: str, variables: Path | None, attempt: int, ttl: str, form: Format
) -> None:
    context = PlanningContext(config)
    if not has_servers(context):
        _note(_NO_SERVERS)
        return
    asked = order_night(
        context, night, _note, seconds=_seconds(ttl), attempt=attempt, variables=variables
    )
    _print_quote(asked, context, form)


@group.command("ready")
def ready_verb(
    night: NightArgument, config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT
) -> None:
    """Record the servers of a night, and wait until a runner of each has connected to GitHub.

    Example: nightshift fleet ready 2026-03-01
    """
    names = fleet_of(Context(config), _note).ready(night)
    if form is Format.JSON:
        print_json({"servers": names})
        return
    for name in names:
        out.print(name, markup=False)


@group.command("status")
def status_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """List the servers with their costs and the end of their time to live.

    Example: nightshift fleet status
    """
    found = fleet_of(Context(config), _note).status()
    if form is Format.JSON:
        print_json(found)
        return
    for line in _listed(found):
        out.print(line, markup=False)


@group.command("costs")
def costs_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """Show the costs of nights, runs and confirmed regressions.

    It uses the record of servers and the bundles, and needs no network.

    Example: nightshift fleet costs --format json
    """
    bills = bills_of(Context(config))
    if form is Format.JSON:
        print_json({**bills.model_dump(mode="json"), "cost": bills.cost})
        return
    for line in cost_lines(bills):
        out.print(line, markup=False)


@group.command("down")
def down_verb(
    night: NightArgument,
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Delete all resources of a night. A second call deletes what the first could not.

    Example: nightshift fleet down 2026-03-01
    """
    context = Context(config)
    if not has_servers(context, may_have=True):
        _note(_NO_SERVERS)
        _swept(Swept([], []), form)
    else:
        _swept(fleet_of(context, _note).down(night), form)


@group.command("reap")
def reap_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """Delete all resources of this pipeline that are past their time to live.

    Resources without the label of this pipeline are never touched.

    Example: nightshift fleet reap
    """
    context = Context(config)
    if not has_servers(context, may_have=True):
        _note(_NO_SERVERS)
        _swept(Swept([], []), form)
    else:
        _swept(reap(context, _note), form)


@group.command("drift")
def drift_verb(
    plan: Annotated[Path, typer.Argument(help="The output of `terraform show -json PLAN`.")],
    repository: Annotated[
        str, typer.Option(help="OWNER/NAME of the issue. Default: [github] repository.")
    ] = "",
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Report in a GitHub issue which resources a Terraform plan would change.

    There is at most one open issue; a plan without a difference closes it. The exit code is 1 if
    there is a difference.

    Example: nightshift fleet drift plan.json
    """
    found = report_drift(Context(config, needed=False), plan, repository)
    if form is Format.JSON:
        print_json({"changed": found.changed, "issue": found.issue})
    else:
        for one in found.changed:
            out.print(f"{one.address}: {', '.join(one.actions)}", markup=False)
        differ = plural(len(found.changed), "resource")
        where = f"; issue {found.issue}" if found.issue else ""
        out.print(f"{differ} differ from the description{where}", markup=False)
    raise typer.Exit(1 if found.changed else 0)


def _seconds(ttl: str) -> float:
    return read_option("ttl", ttl, parse_duration) if ttl else 0.0


def _print_quote(asked: Quote, context: Context, form: Format) -> None:
    if form is Format.JSON:
        print_json(asked)
        return
    for line in _quoted(asked, context):
        out.print(line, markup=False)


def _quoted(asked: Quote, context: Context) -> list[str]:
    """Return the text lines of a price quote for a night's servers."""
    lines = []
    for request in asked.server_requests:
        (kind, at), *others = request.places
        instead = ", ".join(f"{kind} in {at}" for kind, at in others)
        lines.append(
            f"{request.machine_class}: {request.count} x {kind} in {at}"
            + (f" (or {instead})" if instead else "")
            + f", {asked.hours} h at up to {show_small_money(request.dearest)}: "
            f"{show_money(request.cost(asked.hours))}"
            + (f"; steps of about {show_duration(request.seconds)}" if request.seconds else "")
        )
    if not lines:
        lines.append("nothing is due on a cloud server, so the night needs none")
    settings = context.config.fleet
    lines.append(f"a night costs up to {show_money(asked.total)}{_budget(settings.per_night)}")
    lines.append(f"this month so far: {show_money(asked.month)}{_budget(settings.per_month)}")
    return lines


def _listed(found: FleetStatus) -> list[str]:
    """Return the text lines that list the existing servers."""
    moment = now()
    lines = []
    for each in found.servers:
        rent = each.rent
        left = (rent.expires - moment).total_seconds()
        life = (
            f"past its time to live since {show_duration(-left)}"
            if each.past
            else (f"{show_duration(left)} left")
        )
        age = show_duration(max(0.0, (moment - rent.made).total_seconds()))
        lines.append(
            f"{rent.name}  {rent.type} in {rent.location}  {rent.machine_class}  night "
            f"{rent.night}  {age} old, {show_money(each.cost)}, {life}"
        )
    lines.append(
        f"{plural(len(found.servers), 'server')}; this month so far: "
        f"{show_money(found.month)}{_budget(found.per_month)}"
    )
    return lines


def _swept(swept: Swept, form: Format) -> None:
    """Print which servers and resources were deleted. Raises UserError if some remain."""
    if form is Format.JSON:
        print_json(swept._asdict())
    else:
        for what in swept.deleted:
            out.print(f"deleted {what}", markup=False)
    for what in swept.left:
        _note(f"not deleted: {what}")
    if swept.left:
        raise UserError(
            f"{plural(len(swept.left), 'resource')} could not be deleted and may cost money; "
            "run the same command again, or delete them in the Hetzner Cloud console"
        )


def _budget(budget: Money | None) -> str:
    return f" of {show_money(budget)}" if budget is not None else " (no budget is set)"


def _note(text: str) -> None:
    """Print one line of progress on standard error: standard output lists the servers."""
    if not is_quiet():
        err.print(f"fleet: {text}", markup=False)
