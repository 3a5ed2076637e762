"""The programs of the hub as configured, after checking that they can run here."""

from __future__ import annotations

from pathlib import Path

from pipeline.config import Config
from pipeline.hub import grafana, prometheus
from pipeline.hub.http import Address
from pipeline.hub.layout import HubLayout
from pipeline.hub.service import Service
from pipeline.machine.account import Account
from pipeline.machine.ports import check_port
from pipeline.machine.programs import find_program
from pipeline.text.errors import UserError


def addresses(config: Config) -> tuple[Address, Address]:
    """Return the network addresses of Prometheus and Grafana."""
    hub = config.hub
    return Address(hub.host, hub.prometheus_port), Address(hub.host, hub.grafana_port)


def find_services(config: Config, layout: HubLayout, account: Account) -> list[Service]:
    """Return how to run Prometheus and, if it is installed, Grafana.

    Raises UserError for a program that is missing, or that the account cannot run, and for a port
    in use.
    """
    at, boards = addresses(config)
    program = find_program("prometheus")
    if program is None:
        raise UserError(
            "prometheus is not installed; run `make setup`, or install the package prometheus "
            "and stop its service"
        )
    found = [_prometheus(program, config, layout, at)]
    if (other := find_program(*grafana.PROGRAMS)) is not None:
        found.append(_grafana(other, layout, boards, at))
    for service, setting in zip(found, ("hub.prometheus_port", "hub.grafana_port"), strict=False):
        account.check_reach(
            Path(service.command[0]).parent, "install it where every user can run it"
        )
        check_port(
            service.address.port,
            service.address.host,
            f"stop the process that listens there, or set {setting} in nightshift.toml to "
            "another port",
        )
    return found


def _prometheus(program: Path, config: Config, layout: HubLayout, at: Address) -> Service:
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


def _grafana(program: Path, layout: HubLayout, at: Address, source: Address) -> Service:
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
