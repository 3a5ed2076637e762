"""Set the addresses of the links in the Grafana dashboards of this project."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path


def write_addresses(boards: Path, addresses: Mapping[str, str]) -> None:
    """Write the addresses of links into every Grafana dashboard of a folder."""
    for path in boards.glob("*.json"):
        board = json.loads(path.read_text())
        for variable in board["templating"]["list"]:
            if variable["type"] == "constant" and variable["name"] in addresses:
                variable["query"] = addresses[variable["name"]]
        path.write_text(json.dumps(board, indent=2) + "\n")
