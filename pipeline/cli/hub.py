"""The verbs of `hub`, which runs Prometheus and Grafana: up and status."""

from __future__ import annotations

import signal
from threading import Event

from pipeline.cli.app import add_group
from pipeline.cli.console import out
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.hub.status import HubStatus, status
from pipeline.use_cases.context import Context
from pipeline.use_cases.hub import run_hub

group = add_group("hub")

MEGABYTE = 1e6
"""Bytes of a megabyte."""


@group.command("up")
def up_verb(config: ConfigOption = DEFAULT_FILE, quick: QuickOption = False) -> None:
    """Run the hub until it is stopped, and publish new results every few minutes.

    The hub consists of Prometheus, and of Grafana if it is installed.

    Example: nightshift hub up
    """
    stop = Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: stop.set())
    run_hub(Context(config, quick), stop, _tell)
    _tell("stopped")


@group.command("status")
def status_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """Print the running services, their addresses and the size of their data.

    Example: nightshift hub status
    """
    found = status(Context(config).config)
    if form is Format.JSON:
        print_json(found)
        return
    for line in _status_lines(found):
        out.print(line, markup=False)


def _status_lines(found: HubStatus) -> list[str]:
    """Return the text lines about the hub's services and their data."""
    lines = [
        "the hub is not running; start it with `nightshift hub up`"
        if found.state is None
        else (
            f"the hub has been running since {found.state.since:%Y-%m-%d %H:%M} UTC, process "
            f"{found.state.pid}"
        )
    ]
    for service in found.state.services if found.state is not None else ():
        what = "is starting" if service.pid is None else f"process {service.pid}"
        again = f", restarted {service.restarts} times" if service.restarts else ""
        lines.append(f"  {service.name} at {service.url}, {what}{again}")
    for last in found.state.published if found.state is not None else ():
        how = "" if last.well else f"publishing to {last.url} was incomplete: "
        lines.append(f"  {last.at:%H:%M} UTC: {how}{last.message}")
    size = "unknown" if found.bytes is None else f"{found.bytes / MEGABYTE:.1f} MB"
    lines.append(f"data: {size} in {found.folder}")
    if found.version is None:
        lines.append(f"no Prometheus answers at {found.url}")
    else:
        newest = f"{found.newest:%Y-%m-%d %H:%M:%S} UTC" if found.newest is not None else "none"
        lines.append(f"Prometheus {found.version} answers at {found.url}, newest sample: {newest}")
    return lines


def _tell(text: str) -> None:
    """Print one line of progress at once, without buffering."""
    out.print(f"hub: {text}", markup=False)
