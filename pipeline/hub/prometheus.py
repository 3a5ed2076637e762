"""How Prometheus is started on the hub: its command and its configuration."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from pipeline.hub.http import Address

READY = "/-/ready"
"""The path that responds once all stored data is loaded."""

WRITE = "/api/v1/write"
"""The path that accepts samples."""

RULES = "*.rules.yml"
"""The pattern of the names of rule files; the other files in the folder test the rules."""

_OUT_OF_ORDER = "100y"
"""How far behind the newest sample Prometheus accepts samples. Benchmarks are dated in the past,
and old releases more than ten years ago."""

BLOCKS = ("--storage.tsdb.min-block-duration=486h", "--storage.tsdb.max-block-duration=4374h")
"""Blocks of three weeks and up to half a year. With the default of two hours, out-of-order samples
of three years become thousands of blocks, at minutes of CPU time (docs/guide/publishing.md)."""

_SAID = re.compile(r'level=error.*?(?:err|error)="(.+?)"(?: [a-z_]+=|$)')


def configuration(rules: Path, alertmanager: str = "") -> str:
    """Return the text of prometheus.yml. ``alertmanager`` is its HOST:PORT; empty for none.

    Nothing is scraped: all samples arrive by remote write.
    """
    settings: dict[str, object] = {
        "global": {"evaluation_interval": "1m"},
        "storage": {"tsdb": {"out_of_order_time_window": _OUT_OF_ORDER}},
        "rule_files": [str(rules / RULES)],
    }
    if alertmanager:
        targets = {"static_configs": [{"targets": [alertmanager]}]}
        settings["alerting"] = {"alertmanagers": [targets]}
    # JSON is YAML, and quotes any path.
    return json.dumps(settings, indent=2) + "\n"


def command(
    program: Path, config: Path, data: Path, address: Address, retention: str
) -> Sequence[str]:
    """Return the command that runs Prometheus with its data in ``data``."""
    return (
        str(program),
        f"--config.file={config}",
        f"--storage.tsdb.path={data}",
        # The default retention deletes samples older than 15 days, however recently they arrived.
        f"--storage.tsdb.retention.time={retention}",
        *BLOCKS,
        f"--web.listen-address={address.listen}",
        "--web.enable-remote-write-receiver",
    )


def complaint(log: str) -> str:
    """Return why Prometheus ended, from its log."""
    lines = log.strip().splitlines()
    found = [match[1] for match in map(_SAID.search, lines) if match]
    return (found or lines or ["no output"])[-1].replace('\\"', '"')
