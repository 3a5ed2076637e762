"""What a server is told when it is made: cloud-init, which makes a quiet runner of it, no more.

Nobody gets in: no inbound traffic, no SSH server, no password. Jobs run as a user without rights,
who does not reach the address at which this text can be read, with the other jobs' configurations
in it; nothing else in it is a secret.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from pipeline.errors import UserError
from pipeline.fleet.runners import Program

LIMIT = 32 * 1024
"""Bytes that Hetzner Cloud takes."""

_NEEDED = ("ca-certificates", "curl", "nftables")
_FOLDER = "/etc/nightshift"

_FIREWALL = """\
#!/usr/sbin/nft -f
flush ruleset
table inet nightshift {
  chain input {
    type filter hook input priority 0; policy drop;
    iifname "lo" accept
    ct state established,related accept
    meta l4proto ipv6-icmp accept
    udp sport 67 udp dport 68 accept
  }
  chain forward {
    type filter hook forward priority 0; policy drop;
  }
  chain output {
    type filter hook output priority 0; policy accept;
    meta skuid != 0 ip daddr 169.254.169.254 reject
  }
}
"""
"""No way in but for answers, and to the metadata service, which tells this text, for root alone."""

_SYSCTL = """\
# A bench measures: pages stay where they were put, and its profiles name what the kernel did.
vm.swappiness = 1
kernel.numa_balancing = 0
kernel.perf_event_paranoid = 1
kernel.kptr_restrict = 0
# Servers that read and write asynchronously take more requests than the 65,536 of the default.
fs.aio-max-nr = 1048576
"""

_TMPFILES = """\
# Huge pages for who asks for them: found by themselves they come at another time in every run.
w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise
w /sys/kernel/mm/transparent_hugepage/defrag - - - - madvise
"""

_ASLEEP = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "fstrim.timer",
    "man-db.timer",
    "unattended-upgrades.service",
)
"""What Debian does by itself now and then is done while nobody measures, which here is never."""

_SCRIPT = """\
#!/bin/bash
# Has the runner program, checks it, and runs one runner for each configuration.
set -euo pipefail
. /etc/nightshift/runner.env
home=/home/runner
archive=/var/lib/nightshift-runner.tar.gz
curl --fail --silent --show-error --location --proto =https --retry 10 --retry-all-errors \\
  --output "$archive" "$URL"
echo "$SHA256  $archive" | sha256sum --check --quiet
for job in /etc/nightshift/jobs/*; do
  rm -rf "$home/actions"
  install -d -o runner -g runner "$home/actions"
  tar -xzf "$archive" -C "$home/actions"
  printf 'NIGHTSHIFT_MACHINE_CLASS=%s\\n' "$CLASS" > "$home/actions/.env"
  "$home/actions/bin/installdependencies.sh" > /dev/null
  chown -R runner:runner "$home/actions"
  config=$(cat "$job")
  rm "$job"
  cd "$home/actions"
  runuser -u runner -- env -i HOME="$home" USER=runner LANG=C.UTF-8 \\
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
    ./run.sh --jitconfig "$config" || true
  pkill -KILL -u runner || true
done
"""

_SERVICE = """\
[Unit]
Description=Runners of GitHub Actions, one for each job
After=network-online.target nftables.service
Wants=network-online.target
Requires=nftables.service

[Service]
Type=exec
ExecStart=/usr/local/sbin/nightshift-runner
"""


def user_data(
    program: Program, machine_class: str, configurations: Sequence[str], packages: Sequence[str]
) -> str:
    """Return the text for a server that runs one job for each of the runners' configurations.

    Raises UserError where it is longer than Hetzner Cloud takes.
    """
    settings = {"URL": program.url, "SHA256": program.sha256, "CLASS": machine_class}
    environment = "".join(f"{key}={shlex.quote(value)}\n" for key, value in settings.items())
    told = {
        "disable_root": True,
        "ssh_pwauth": False,
        "users": [{"name": "runner", "lock_passwd": True, "shell": "/bin/bash"}],
        "package_update": True,
        "packages": sorted({*_NEEDED, *packages}),
        "write_files": [
            _file("/etc/nftables.conf", _FIREWALL, "0644"),
            _file("/etc/sysctl.d/90-nightshift.conf", _SYSCTL, "0644"),
            _file("/etc/tmpfiles.d/nightshift.conf", _TMPFILES, "0644"),
            _file("/usr/local/sbin/nightshift-runner", _SCRIPT, "0700"),
            _file("/etc/systemd/system/nightshift-runner.service", _SERVICE, "0644"),
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
            ["systemctl", "mask", "--now", *_ASLEEP],
            ["sysctl", "--quiet", "--load", "/etc/sysctl.d/90-nightshift.conf"],
            ["systemd-tmpfiles", "--create", "/etc/tmpfiles.d/nightshift.conf"],
            ["systemctl", "start", "nightshift-runner.service"],
        ],
    }
    # JSON is YAML, and needs no other rules for what may be in a text.
    text = f"#cloud-config\n{json.dumps(told, indent=1)}\n"
    if len(text.encode()) > LIMIT:
        raise UserError(
            f"what a server is told has {len(text.encode()):,} bytes, and Hetzner Cloud takes "
            f"{LIMIT:,}; set fewer jobs in [fleet]"
        )
    return text


def _file(path: str, content: str, permissions: str) -> dict[str, str]:
    return {"path": path, "content": content, "permissions": permissions, "owner": "root:root"}
