"""Run the hub (Prometheus and Grafana with nightshift's configuration) until it is stopped."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from threading import Event

from pipeline.hub import prometheus
from pipeline.hub.dashboards import write_addresses
from pipeline.hub.layout import DASHBOARDS, HubLayout, held, prepare
from pipeline.hub.prometheus import WRITE
from pipeline.hub.publisher import Publisher
from pipeline.hub.run import Hub
from pipeline.hub.service import RunningService
from pipeline.hub.services import addresses, find_services
from pipeline.machine.account import find_account
from pipeline.publish.remote import receiver_name
from pipeline.use_cases.context import Context

_LOG = logging.getLogger(__name__)


def run_hub(context: Context, stop: Event, note: Callable[[str], None]) -> None:
    """Run Prometheus and Grafana and send results to them, until ``stop`` is set.

    ``note`` receives progress lines. Raises UserError if a hub already runs, or if Prometheus is
    not installed.
    """
    settings = context.config.hub
    layout = HubLayout(context.config.hub_folder)
    account = find_account()
    with held(layout):
        services = find_services(context.config, layout, account)
        prepare(layout, account)
        write_addresses(layout.boards, settings.links)
        layout.configuration.write_text(
            prometheus.configuration(layout.rules, settings.alertmanager)
        )
        _caution(context, grafana=len(services) > 1)
        kept = [RunningService(service, account, note) for service in services]
        Hub(layout, kept, _publishers(context, layout, note), note).run(stop)


def _publishers(
    context: Context, layout: HubLayout, note: Callable[[str], None]
) -> list[Publisher]:
    """Return the publishers to the hub and to another configured receiver, if any.

    The publisher to the other receiver sends results that a night could not send.
    """
    at, _ = addresses(context.config)
    own, other = f"{at.url}{WRITE}", context.config.publish.url
    # The other address stays in the configuration, so a token in it is not visible in process
    # lists.
    receivers = {own: ("--url", own)} | ({other: ()} if other not in ("", own) else {})
    verb = (sys.executable, "-m", "pipeline", "publish", "--config", str(context.file.path))
    quick = ("--quick",) if context.quick else ()
    return [
        Publisher(
            receiver_name(url),
            (*verb, *quick, *option),
            layout.log(f"publish-{number}"),
            context.config.hub.publish,
            note,
        )
        for number, (url, option) in enumerate(receivers.items(), start=1)
    ]


def _caution(context: Context, *, grafana: bool) -> None:
    """Warn about missing parts of the hub, and about ports open to the network."""
    at, boards = addresses(context.config)
    if not DASHBOARDS.is_dir():
        _LOG.warning(
            f"{DASHBOARDS} does not exist: continuing without rules and dashboards; run "
            "nightshift from a checkout to have them"
        )
    if not grafana:
        _LOG.warning(
            "grafana is not installed: continuing without it; docs/guide/operations.md, "
            'section "The hub", describes the installation'
        )
    if not at.private:
        _LOG.warning(
            f"hub.host is {at.host}: everyone who can reach port {at.port} of this machine can "
            "read and write without a password; block it with a firewall, or use ssh -L"
            + (f". Grafana on port {boards.port} requires a password" if grafana else "")
        )
