"""The hub's services, from the configuration: which there are, and that they can be run here."""

from __future__ import annotations

from pathlib import Path

from pipeline.config import Config
from pipeline.errors import UserError
from pipeline.hub import grafana, prometheus
from pipeline.hub.ask import Address
from pipeline.hub.layout import Layout
from pipeline.hub.programs import find_program
from pipeline.hub.service import Service
from pipeline.machine.account import Account
from pipeline.machine.ports import check_port


def addresses(config: Config) -> tuple[Address, Address]:
    """Return where Prometheus and Grafana listen."""
    hub = config.hub
    return Address(hub.host, hub.prometheus_port), Address(hub.host, hub.grafana_port)


def find_services(config: Config, layout: Layout, account: Account) -> list[Service]:
    """Return Prometheus, and Grafana where it is installed.

    Raises UserError for a program that is missing, or that the account cannot run, and for a port
    in use.
    """
    at, boards = addresses(config)
    program = find_program("prometheus")
    if program is None:
        raise UserError(
            "prometheus is not installed; run `make setup`, which unpacks Debian's, or install the "
            "package prometheus and stop the server that comes with it"
        )
    found = [_prometheus(program, config, layout, at)]
    if (other := find_program(*grafana.PROGRAMS)) is not None:
        found.append(_grafana(other, layout, boards, at))
    for service, setting in zip(found, ("hub.prometheus_port", "hub.grafana_port"), strict=False):
        account.check_reach(Path(service.command[0]).parent, "install it where everyone can run it")
        check_port(
            service.address.port,
            service.address.host,
            f"stop what listens there, or set {setting} in nightshift.toml to another",
        )
    return found


def _prometheus(program: Path, config: Config, layout: Layout, at: Address) -> Service:
    return Service(
        name="Prometheus",
        command=prometheus.command(
            program, layout.configuration, layout.prometheus, at, config.hub.retention
        ),
        environment={},
        folder=layout.prometheus,
        log=layout.log("prometheus"),
        address=at,
        ready=prometheus.READY,
        complaint=prometheus.complaint,
    )


def _grafana(program: Path, layout: Layout, at: Address, source: Address) -> Service:
    return Service(
        name="Grafana",
        command=grafana.command(program, grafana.home_of(program)),
        environment=grafana.environment(layout, at, source),
        folder=layout.grafana,
        log=layout.log("grafana"),
        address=at,
        ready=grafana.READY,
        complaint=grafana.complaint,
    )
