"""Protect the pages from scripts and markup in values that servers report."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any


def embedded(document: Mapping[str, Any]) -> str:
    """Return data as JSON that is safe inside a script element.

    No value can end the element or begin a comment.
    """
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def policy(scripts: Iterable[str], loads: bool = False, engine: bool = False) -> str:
    """Return the page's content security policy: only our scripts, and no network.

    The policy holds even if a value reaches the page unescaped. With ``loads``, these scripts may
    load other scripts, which are files in the same folder as the page. With ``engine``, they may
    also start a worker from memory and compile WebAssembly in it.
    """
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in scripts
    )
    trusted = " 'strict-dynamic'" if loads else ""
    if engine:
        trusted += " 'wasm-unsafe-eval'"
    workers = " worker-src blob:;" if engine else ""
    return (
        f"default-src 'none'; script-src {hashes}{trusted}; style-src 'unsafe-inline';{workers} "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
