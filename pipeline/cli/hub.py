"""The verbs of the hub: up and status."""

from __future__ import annotations

import signal
import sys
from threading import Event

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, warn
from pipeline.cli.context import Context
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.hub import prometheus
from pipeline.hub.boards import give_addresses
from pipeline.hub.layout import DASHBOARDS, Layout, held, prepare
from pipeline.hub.prometheus import WRITE
from pipeline.hub.publisher import Publisher
from pipeline.hub.run import Hub
from pipeline.hub.service import Kept
from pipeline.hub.services import addresses, find_services
from pipeline.hub.status import Status, status
from pipeline.machine.account import find_account
from pipeline.publish.remote import receiver_name

group = typer.Typer()
app.add_typer(group, name="hub")

MEGABYTE = 1e6
"""Bytes in one, as sizes are told."""


@group.callback(invoke_without_command=True)
def hub_group(context: typer.Context) -> None:
    """Run Prometheus and Grafana, or show their state."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@group.command("up")
def up_verb(config: ConfigOption = DEFAULT_FILE, quick: QuickOption = False) -> None:
    """Run the hub until it is stopped, and publish every few minutes.

    That is Prometheus, and Grafana where it is installed.

    Example: nightshift hub up
    """
    context = Context(config, quick)
    settings = context.config.hub
    layout = Layout(context.config.hub_folder)
    account = find_account()
    with held(layout):
        services = find_services(context.config, layout, account)
        prepare(layout, account)
        give_addresses(layout.boards, settings.links)
        layout.configuration.write_text(
            prometheus.configuration(layout.rules, settings.alertmanager)
        )
        _caution(context, grafana=len(services) > 1)
        stop = Event()
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, lambda *_: stop.set())
        kept = [Kept(service, account, _tell) for service in services]
        Hub(layout, kept, _publishers(context, layout), _tell).run(stop)
        _tell("stopped")


@group.command("status")
def status_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """Say what runs, where, and how much it holds.

    Example: nightshift hub status
    """
    found = status(Context(config).config)
    if form is Format.JSON:
        print_json(found)
        return
    for line in _told(found):
        out.print(line, markup=False)


def _publishers(context: Context, layout: Layout) -> list[Publisher]:
    """Return who publishes to the hub, and to the receiver of the configuration if it is another.

    The latter gets what a night could not send.
    """
    at, _ = addresses(context.config)
    own, other = f"{at.url}{WRITE}", context.config.publish.url
    # The other is in the configuration: whoever lists processes does not read a token in it.
    receivers = {own: ("--url", own)} | ({other: ()} if other not in ("", own) else {})
    verb = (sys.executable, "-m", "pipeline", "publish", "--config", str(context.file.path))
    quick = ("--quick",) if context.quick else ()
    return [
        Publisher(
            receiver_name(url),
            (*verb, *quick, *option),
            layout.log(f"publish-{number}"),
            context.config.hub.publish,
            _tell,
        )
        for number, (url, option) in enumerate(receivers.items(), start=1)
    ]


def _caution(context: Context, *, grafana: bool) -> None:
    """Say what a hub lacks, and who reaches it."""
    at, boards = addresses(context.config)
    if not DASHBOARDS.is_dir():
        warn(f"{DASHBOARDS} is not there: going on without rules and dashboards; run a checkout")
    if not grafana:
        warn("grafana is not installed: going on without; docs/operations.md says how it is had")
    if not at.private:
        warn(
            f"hub.host is {at.host}: whoever reaches port {at.port} of this machine reads and "
            f"writes without a password; keep it behind a firewall, or use ssh -L"
            + (f". Grafana on port {boards.port} asks for one" if grafana else "")
        )


def _told(found: Status) -> list[str]:
    """Return a status as lines."""
    lines = [
        "the hub does not run; start it with `nightshift hub up`"
        if found.state is None
        else f"the hub runs since {found.state.since:%Y-%m-%d %H:%M} UTC, process {found.state.pid}"
    ]
    for service in found.state.services if found.state is not None else ():
        what = "is about to be started" if service.pid is None else f"process {service.pid}"
        again = f", restarted {service.restarts} times" if service.restarts else ""
        lines.append(f"  {service.name} at {service.url}, {what}{again}")
    for last in found.state.published if found.state is not None else ():
        how = "" if last.well else f"not all was published to {last.url}: "
        lines.append(f"  {last.at:%H:%M} UTC: {how}{last.said}")
    size = "unknown" if found.bytes is None else f"{found.bytes / MEGABYTE:.1f} MB"
    lines.append(f"data: {size} in {found.folder}")
    if found.version is None:
        lines.append(f"no Prometheus answers at {found.url}")
    else:
        newest = f"{found.newest:%Y-%m-%d %H:%M:%S} UTC" if found.newest is not None else "none"
        lines.append(f"Prometheus {found.version} answers at {found.url}, newest sample: {newest}")
    return lines


def _tell(text: str) -> None:
    """Say one line of what goes on, at once: whoever reads may be a log."""
    out.print(f"hub: {text}", markup=False)
