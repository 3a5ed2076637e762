"""The cloud-init configuration that makes a rented server a GitHub runner, and nothing else.

Nobody can log in: no inbound traffic, no SSH server, no password. Jobs run as an unprivileged user
who cannot reach the metadata address that serves this text. The text contains the other jobs'
configurations, and no other secret.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from pipeline.fleet.runners import Program
from pipeline.text.errors import UserError

LIMIT = 32 * 1024
"""Maximum size in bytes for Hetzner Cloud."""

_NEEDED = ("ca-certificates", "curl", "nftables")
_FOLDER = "/etc/nightshift"
_FILES = Path(__file__).parent / "bench_files"
"""The folder of files that are installed on every bench: ``infra/modules`` reads them, too."""


def user_data(
    program: Program, machine_class: str, configurations: Sequence[str], packages: Sequence[str]
) -> str:
    """Return the cloud-init configuration of a server with one job for each runner.

    Raises UserError if it exceeds the maximum size.
    """
    settings = {"URL": program.url, "SHA256": program.sha256, "CLASS": machine_class}
    environment = "".join(f"{key}={shlex.quote(value)}\n" for key, value in settings.items())
    cloud_config = {
        "disable_root": True,
        "ssh_pwauth": False,
        "users": [{"name": "runner", "lock_passwd": True, "shell": "/bin/bash"}],
        "package_update": True,
        "packages": sorted({*_NEEDED, *packages}),
        "write_files": [
            _file("/etc/nftables.conf", _firewall(), "0644"),
            _file("/etc/sysctl.d/90-nightshift.conf", _text("sysctl.conf"), "0644"),
            _file("/etc/tmpfiles.d/nightshift.conf", _text("tmpfiles.conf"), "0644"),
            _file("/usr/local/sbin/nightshift-runner", _text("nightshift-runner"), "0700"),
            _file(
                "/etc/systemd/system/nightshift-runner.service",
                _text("nightshift-runner.service"),
                "0644",
            ),
            _file(f"{_FOLDER}/runner.env", environment, "0600"),
            *(
                _file(f"{_FOLDER}/jobs/{number}", configuration, "0600")
                for number, configuration in enumerate(configurations, 1)
            ),
        ],
        "runcmd": [
            ["passwd", "--lock", "root"],
            ["systemctl", "disable", "--now", "ssh.service", "ssh.socket"],
            ["systemctl", "enable", "nftables.service"],
            ["systemctl", "restart", "nftables.service"],
            # Debian's periodic work could disturb a measurement.
            ["systemctl", "mask", "--now", *_text("asleep").split()],
            ["sysctl", "--quiet", "--load", "/etc/sysctl.d/90-nightshift.conf"],
            ["systemd-tmpfiles", "--create", "/etc/tmpfiles.d/nightshift.conf"],
            ["systemctl", "start", "nightshift-runner.service"],
        ],
    }
    # JSON is YAML, with simpler quoting rules.
    text = f"#cloud-config\n{json.dumps(cloud_config, indent=1)}\n"
    if len(text.encode()) > LIMIT:
        raise UserError(
            f"the user data of a server has {len(text.encode()):,} bytes, more than the "
            f"{LIMIT:,} of Hetzner Cloud; set fewer jobs in [fleet]"
        )
    return text


def _file(path: str, content: str, permissions: str) -> dict[str, str]:
    return {"path": path, "content": content, "permissions": permissions, "owner": "root:root"}


def _firewall() -> str:
    """Return the firewall rules of a rented server.

    Inbound: only replies. Outbound to the metadata service, which serves this text: root only.
    """
    return re.sub(r"%\{ for .*%\{ endfor ~\}\n", "", _text("nftables.conf.tftpl"), flags=re.DOTALL)


def _text(name: str) -> str:
    return (_FILES / name).read_text()
