"""Parse the call stacks that eu-stack of elfutils prints: ``eu-stack --pid PID --module``."""

from __future__ import annotations

import re
from pathlib import PurePath

_THREAD = re.compile(r"TID (\d+):")
_FRAME = re.compile(r"#\d+\s+0x[0-9a-f]+(?: - \d+)?\s*(.*)")


def stacks_by_thread(text: str) -> dict[int, list[str]]:
    """Return the functions of each thread, from the root to the leaf, by the thread's number.

    A function without a symbol is named after its file, in brackets.
    """
    stacks: dict[int, list[str]] = {}
    frames: list[str] = []
    for line in text.splitlines():
        if thread := _THREAD.match(line):
            frames = stacks[int(thread[1])] = []
        elif frame := _FRAME.match(line):
            frames.insert(0, _name(frame[1]))
    return stacks


def _name(rest: str) -> str:
    """Return the name of a frame from what follows its address: ``name - file``."""
    name, _, file = rest.rpartition("- ")
    # The version of a symbol, as in `clock_nanosleep@GLIBC_2.2.5`.
    name = name.strip().partition("@")[0]
    return (name or f"[{PurePath(file.strip()).name}]").replace(";", ":")
