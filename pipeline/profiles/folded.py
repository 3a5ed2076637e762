"""Folded stacks: a CPU profile as text, with one line for each distinct call stack.

The form is Brendan Gregg's (github.com/brendangregg/FlameGraph), which other tools read too:
``postgres;main;ServerLoop;ExecScan 17``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath

KERNEL = "_[k]"
"""Suffix of the names of the kernel's functions."""

_JIT = re.compile(r"/perf-\d+\.map$")
"""The file in which a program may list the names of functions that it compiled as it ran. perf
looks there for code that is in no program file."""

_KERNEL_BIT = 63
"""The highest bit of an address, which is set in addresses of the kernel on x86-64 and arm64."""


def fold(lines: Iterable[str]) -> Counter[str]:
    """Count how often each call stack occurs in the output of ``perf script``.

    A sample is a line with the name of its thread, a line for each function from the leaf to the
    root, and an empty line.
    """
    stacks: Counter[str] = Counter()
    frames: list[str] = []
    command = ""
    for line in lines:
        if not line.strip():
            if command:
                stacks[";".join((command, *reversed(frames)))] += 1
            command, frames = "", []
        elif line[0].isspace() and command:
            frames.append(_frame(line))
        else:
            command = line.strip().replace(";", ":")
    if command:
        stacks[";".join((command, *reversed(frames)))] += 1
    return stacks


def _frame(line: str) -> str:
    """Return the name of a function, or of its file if it has no name."""
    address, _, rest = line.strip().partition(" ")
    name, _, file = rest.strip().removesuffix(")").rpartition(" (")
    if file == "deleted)":
        name, _, file = name.rpartition(" (")
    if name == "[unknown]":
        # Code that a program made as it ran has a file by the number of its process, which would
        # make other stacks of every run.
        name = "[jit]" if _JIT.search(file) else f"[{PurePath(file).name.strip('[]')}]"
    kernel = int(address, 16) >> _KERNEL_BIT
    return name.replace(";", ":") + (KERNEL if kernel else "")


def dump_folded(stacks: Mapping[str, int]) -> str:
    """Write a CPU profile as folded stacks, sorted."""
    return "".join(f"{stack} {count}\n" for stack, count in sorted(stacks.items()))


def load_folded(text: str) -> Counter[str]:
    """Parse folded stacks. Raises ValueError for other text."""
    return Counter(dict(_pairs(text)))


def _pairs(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        yield stack, int(count)
