"""How Grafana is started on the hub: its command and its settings.

Every setting of grafana.ini has an environment variable, and a value may name a file:
https://grafana.com/docs/grafana/latest/setup-grafana/configure-grafana/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.hub.http import Address
from pipeline.hub.layout import HubLayout
from pipeline.text.errors import UserError

READY = "/api/health"
"""The path that responds once Grafana's database is available."""

PROGRAMS = ("grafana", "grafana-server")
"""The program's name since 9.4, and the earlier one."""

_PACKAGED = Path("/usr/share/grafana")
_DEFAULTS = "conf/defaults.ini"


def home_of(program: Path) -> Path:
    """Return the folder of Grafana's own files. Raises UserError if it is missing."""
    for home in (program.resolve().parents[1], _PACKAGED):
        if (home / _DEFAULTS).is_file():
            return home
    raise UserError(
        f"{program} has no {_DEFAULTS} beside it or in {_PACKAGED}; install Grafana completely, "
        "or remove it from PATH"
    )


def command(program: Path, home: Path) -> Sequence[str]:
    """Return the command that runs Grafana."""
    server = (str(program), "server") if program.name == "grafana" else (str(program),)
    return (*server, f"--homepath={home}")


def environment(layout: HubLayout, address: Address, prometheus: Address) -> Mapping[str, str]:
    """Return the environment variables with Grafana's settings."""
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
        # Disable update checks and reporting.
        "GF_ANALYTICS_REPORTING_ENABLED": "false",
        "GF_ANALYTICS_CHECK_FOR_UPDATES": "false",
        "GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES": "false",
        "GF_NEWS_NEWS_FEED_ENABLED": "false",
        "GF_PLUGINS_PREINSTALL_DISABLED": "true",
        # Variables used by the provisioning files.
        "NIGHTSHIFT_PROMETHEUS_URL": prometheus.url,
        "NIGHTSHIFT_DASHBOARDS": str(layout.boards),
    }


def complaint(log: str) -> str:
    """Return why Grafana ended: the last line of its log."""
    return (log.strip().splitlines() or ["no output"])[-1]
