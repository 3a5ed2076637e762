"""Grafana: how it is started, and what it is told.

Every setting of its grafana.ini has a variable of the environment, and a value may name a file:
https://grafana.com/docs/grafana/latest/setup-grafana/configure-grafana/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.errors import UserError
from pipeline.hub.ask import Address
from pipeline.hub.layout import Layout

READY = "/api/health"
"""What answers once its database is there."""

PROGRAMS = ("grafana", "grafana-server")
"""Its name since 9.4, and the one before."""

_PACKAGED = Path("/usr/share/grafana")
_DEFAULTS = "conf/defaults.ini"


def home_of(program: Path) -> Path:
    """Return the folder of its own files. Raises UserError where they are not."""
    for home in (program.resolve().parents[1], _PACKAGED):
        if (home / _DEFAULTS).is_file():
            return home
    raise UserError(
        f"{program} has no {_DEFAULTS} beside it or in {_PACKAGED}; install Grafana whole, or take "
        "it off PATH"
    )


def command(program: Path, home: Path) -> Sequence[str]:
    """Return the command that runs it."""
    server = (str(program), "server") if program.name == "grafana" else (str(program),)
    return (*server, f"--homepath={home}")


def environment(layout: Layout, address: Address, prometheus: Address) -> Mapping[str, str]:
    """Return its settings. Whoever reaches it on this machine may look, and nobody else."""
    return {
        "GF_SERVER_HTTP_ADDR": address.host,
        "GF_SERVER_HTTP_PORT": str(address.port),
        "GF_PATHS_DATA": str(layout.grafana),
        "GF_PATHS_LOGS": str(layout.grafana / "log"),
        "GF_PATHS_PLUGINS": str(layout.grafana / "plugins"),
        "GF_PATHS_PROVISIONING": str(layout.provisioning),
        "GF_SECURITY_ADMIN_PASSWORD": f"$__file{{{layout.password}}}",
        "GF_AUTH_ANONYMOUS_ENABLED": "true" if address.private else "false",
        "GF_AUTH_ANONYMOUS_ORG_ROLE": "Viewer",
        "GF_USERS_ALLOW_SIGN_UP": "false",
        "GF_LOG_MODE": "console",
        # It asks nobody for news.
        "GF_ANALYTICS_REPORTING_ENABLED": "false",
        "GF_ANALYTICS_CHECK_FOR_UPDATES": "false",
        "GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES": "false",
        "GF_NEWS_NEWS_FEED_ENABLED": "false",
        "GF_PLUGINS_PREINSTALL_DISABLED": "true",
        # What the provisioning is written in terms of.
        "NIGHTSHIFT_PROMETHEUS_URL": prometheus.url,
        "NIGHTSHIFT_DASHBOARDS": str(layout.boards),
    }


def complaint(log: str) -> str:
    """Return why it ended: what it said last."""
    return (log.strip().splitlines() or ["it said nothing"])[-1]
