"""The verbs of the fleet: quote, up, status, costs, down and reap."""

from __future__ import annotations

import os
from functools import partial
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import err, out
from pipeline.cli.context import Context
from pipeline.cli.costs import costs_verb
from pipeline.cli.options import ConfigOption, Format, FormatOption, read_option
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError
from pipeline.fleet.cloud import connect
from pipeline.fleet.estate import Swept
from pipeline.fleet.fleet import Fleet, Status
from pipeline.fleet.pace import Pace
from pipeline.fleet.quote import Quote
from pipeline.fleet.runners import find_runners
from pipeline.journal import now
from pipeline.units import Money, counted, parse_duration, show_duration, show_money

group = typer.Typer()
app.add_typer(group, name="fleet")

NightArgument = Annotated[
    str, typer.Argument(help="Name of the night, as the id of a workflow's run.")
]
_NO_SERVERS = "no [[class]] has a server_type: there are no servers for nights"

TtlOption = Annotated[
    str, typer.Option("--ttl", help="Time to live, in place of that of the configuration: 3h.")
]


@group.callback(invoke_without_command=True)
def fleet_group(context: typer.Context) -> None:
    """Create bench servers for a night, and delete them."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@group.command("quote")
def quote_verb(
    config: ConfigOption = DEFAULT_FILE,
    ttl: TtlOption = "",
    form: FormatOption = Format.TEXT,
) -> None:
    """Price the servers of a night, and make nothing.

    Example: nightshift fleet quote --ttl 4h
    """
    context = Context(config)
    asked = _fleet(context).quote(seconds=_seconds(ttl))
    if form is Format.JSON:
        print_json(asked)
        return
    for line in _quoted(asked, context):
        out.print(line, markup=False)


@group.command("up")
def up_verb(
    night: NightArgument,
    config: ConfigOption = DEFAULT_FILE,
    ttl: TtlOption = "",
    form: FormatOption = Format.TEXT,
) -> None:
    """Make the servers of a night, each as a runner of the repository.

    What that costs is asked first, and beyond a budget nothing is made. Again, it makes what is
    missing.

    Example: nightshift fleet up 2026-03-01
    """
    context = Context(config)
    if _reserved(context):
        _tell(_NO_SERVERS)
        names = []
    else:
        names = _fleet(context).up(night, _seconds(ttl))
    if form is Format.JSON:
        print_json({"servers": names})
        return
    for name in names:
        out.print(name, markup=False)


@group.command("status")
def status_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """List the servers, what they cost, and until when they live.

    Example: nightshift fleet status
    """
    found = _fleet(Context(config)).status()
    if form is Format.JSON:
        print_json(found)
        return
    for line in _listed(found):
        out.print(line, markup=False)


group.command("costs")(costs_verb)


@group.command("down")
def down_verb(
    night: NightArgument,
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Delete everything of a night. Again, it deletes what was left.

    Example: nightshift fleet down 2026-03-01
    """
    context = Context(config)
    if _reserved(context, unless_token=True):
        _tell(_NO_SERVERS)
        _swept(Swept([], []), form)
    else:
        _swept(_fleet(context).down(night), form)


@group.command("reap")
def reap_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """Delete everything of ours that is past its time to live.

    Nothing that lacks our label is touched.

    Example: nightshift fleet reap
    """
    context = Context(config)
    if _reserved(context, unless_token=True):
        _tell(_NO_SERVERS)
        _swept(Swept([], []), form)
    else:
        _swept(_fleet(context).reap(), form)


def _reserved(context: Context, *, unless_token: bool = False) -> bool:
    """Tell whether all machines are reserved, so that there is nothing to make.

    There may be servers of an earlier configuration. With ``unless_token`` they are looked for
    where there is a token to do so.
    """
    if any(each.server_type for each in context.config.machine_class):
        return False
    return not (unless_token and os.environ.get(context.config.fleet.secret))


def _fleet(context: Context) -> Fleet:
    pace = Pace(context.config.fleet.patience, _tell)
    cloud = connect(context.config.fleet, pace)
    return Fleet(context.config, cloud, partial(find_runners, context.config, pace), _tell)


def _seconds(ttl: str) -> float:
    return read_option("ttl", ttl, parse_duration) if ttl else 0.0


def _quoted(asked: Quote, context: Context) -> list[str]:
    """Return a quote as lines."""
    lines = []
    for wish in asked.wishes:
        (kind, at), *others = wish.places
        instead = ", ".join(f"{kind} in {at}" for kind, at in others)
        lines.append(
            f"{wish.machine_class}: {wish.count} x {kind} in {at}"
            + (f" (or {instead})" if instead else "")
            + f", {asked.hours} h at up to {_exactly(wish.dearest)}: "
            f"{show_money(wish.cost(asked.hours))}"
        )
    settings = context.config.fleet
    lines.append(f"a night costs up to {show_money(asked.total)}{_budget(settings.per_night)}")
    lines.append(f"this month so far: {show_money(asked.month)}{_budget(settings.per_month)}")
    return lines


def _listed(found: Status) -> list[str]:
    """Return a status as lines."""
    moment = now()
    lines = []
    for each in found.servers:
        rent = each.rent
        left = (rent.expires - moment).total_seconds()
        life = (
            f"past its time to live by {show_duration(-left)}"
            if each.past
            else (f"{show_duration(left)} left")
        )
        age = show_duration(max(0.0, (moment - rent.made).total_seconds()))
        lines.append(
            f"{rent.name}  {rent.type} in {rent.location}  {rent.machine_class}  night "
            f"{rent.night}  {age} old, {show_money(each.cost)}, {life}"
        )
    lines.append(
        f"{counted(len(found.servers), 'server')}; this month so far: "
        f"{show_money(found.month)}{_budget(found.per_month)}"
    )
    return lines


def _swept(swept: Swept, form: Format) -> None:
    """Say what was deleted. Raises UserError where something could not be."""
    if form is Format.JSON:
        print_json(swept._asdict())
    else:
        for what in swept.deleted:
            out.print(f"deleted {what}", markup=False)
    for what in swept.left:
        _tell(f"left {what}")
    if swept.left:
        raise UserError(
            f"{counted(len(swept.left), 'resource')} could not be deleted and may cost money; run "
            "the same command again, or delete it at Hetzner Cloud"
        )


def _budget(budget: Money | None) -> str:
    return f" of {show_money(budget)}" if budget is not None else " (no budget is set)"


def _exactly(price: Money) -> str:
    """Write the price of an hour, of which hundredths are not enough."""
    return f"{price.amount:.4f} {price.currency}"


def _tell(text: str) -> None:
    """Say one line of what goes on, on standard error: standard output lists the servers."""
    err.print(f"fleet: {text}", markup=False)
