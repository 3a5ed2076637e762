"""Answers of measured pull requests as tests make them up, and artifacts of them."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

BASE, HEAD = "b" * 40, "a" * 40

_NOISE = (0.001, -0.001, 0.0005, -0.0005, 0.0, 0.0012, -0.0008, 0.0003)
"""What runs differ by: little enough for a few blocks to show everything."""


def side(commit: str) -> dict[str, str]:
    return {"commit": commit, "label": commit[:12], "options": "rel_o2nofp", "config": "wal"}


def levels(
    step: str = "point-query_range=100",
    metric: str = "cpu_us/o",
    change: float = 0.0,
    blocks: int = 8,
    control: float = 0.0,
) -> dict[str, Any]:
    """Return the runs of a figure that changed so much; ``control`` is how much the machine did."""
    shifted = _NOISE[3:] + _NOISE[:3]
    return {
        "step": step,
        "metric": metric,
        "base": [10.0 * (1 + each) for each in _NOISE[:blocks]],
        "head": [10.0 * (1 + change) * (1 - each) for each in _NOISE[:blocks]],
        "control": [10.0 * (1 + control) * (1 + each) for each in shifted[:blocks]],
    }


def measured(*figures: Mapping[str, Any], head: str = HEAD, **changes: Any) -> dict[str, Any]:
    """Return an answer with these figures; with ``changes`` made to what was measured."""
    found: dict[str, Any] = {
        "target": "sqlite",
        "base": side(BASE),
        "head": side(head),
        "machine_class": "small",
        "workload": "short",
        "smallest_effect": 0.02,
        "budget": 60.0,
        "seconds": 12.5,
        "levels": list(figures or [levels()]),
    }
    return {
        "schema_version": 1,
        "nightshift": "0.1.0",
        "status": "measured",
        "reason": "",
        "measured": found | changes,
    }


def not_measured(reason: str, cause: str = "") -> dict[str, Any]:
    return ({"cause": cause} if cause else {}) | {
        "schema_version": 1,
        "nightshift": "0.1.0",
        "status": "could not run",
        "reason": reason,
        "measured": None,
    }


def sums(answer: bytes) -> bytes:
    return f"{hashlib.sha256(answer).hexdigest()}  answer.json\n".encode()


def members(answer: Mapping[str, Any] | bytes) -> dict[str, bytes]:
    """Return the files of a folder that measuring leaves."""
    data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return {"answer.json": data, "SHA256SUMS": sums(data)}


def zipped(
    files: Mapping[str, bytes] | Sequence[tuple[str | zipfile.ZipInfo, bytes]],
    packing: int = zipfile.ZIP_DEFLATED,
) -> bytes:
    """Return a zip archive, of whatever members."""
    pairs = files.items() if isinstance(files, Mapping) else files
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", packing) as archive:
        for name, data in pairs:
            archive.writestr(name, data, compress_type=packing)
    return packed.getvalue()
