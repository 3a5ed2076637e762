"""Prometheus: how it is started, and what it is told."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from pipeline.hub.ask import Address

READY = "/-/ready"
"""What answers once everything that was stored is read."""

WRITE = "/api/v1/write"
"""What takes samples."""

RULES = "*.rules.yml"
"""The rules among the files that are there; the others test them."""

_OUT_OF_ORDER = "100y"
"""Benchmarks are dated in the past, and old releases longer ago than ten years: how far behind the
newest sample one is still taken."""

BLOCKS = ("--storage.tsdb.min-block-duration=486h", "--storage.tsdb.max-block-duration=4374h")
"""Blocks of three weeks and up to half a year. With its own two hours, samples of three years that
came out of order become thousands of blocks, at minutes of processor time (docs/publishing.md)."""

_SAID = re.compile(r'level=error.*?(?:err|error)="(.+?)"(?: [a-z_]+=|$)')


def configuration(rules: Path, alertmanager: str = "") -> str:
    """Return the text of prometheus.yml. ``alertmanager`` is its HOST:PORT; empty for none.

    Nothing is scraped: all there is is written to it.
    """
    settings: dict[str, object] = {
        "global": {"evaluation_interval": "1m"},
        "storage": {"tsdb": {"out_of_order_time_window": _OUT_OF_ORDER}},
        "rule_files": [str(rules / RULES)],
    }
    if alertmanager:
        targets = {"static_configs": [{"targets": [alertmanager]}]}
        settings["alerting"] = {"alertmanagers": [targets]}
    # JSON is YAML, and quotes whatever stands in a path.
    return json.dumps(settings, indent=2) + "\n"


def command(
    program: Path, config: Path, data: Path, address: Address, retention: str
) -> Sequence[str]:
    """Return the command that runs it on ``data``."""
    return (
        str(program),
        f"--config.file={config}",
        f"--storage.tsdb.path={data}",
        # Its own default deletes what is older than 15 days, however new it is here.
        f"--storage.tsdb.retention.time={retention}",
        *BLOCKS,
        f"--web.listen-address={address.listen}",
        "--web.enable-remote-write-receiver",
    )


def complaint(log: str) -> str:
    """Return why it ended, from its log."""
    lines = log.strip().splitlines()
    found = [match[1] for match in map(_SAID.search, lines) if match]
    return (found or lines or ["it said nothing"])[-1].replace('\\"', '"')
