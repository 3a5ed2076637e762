"""Parse the files of callgrind: what each function of a process costs.

The format is described in Valgrind's manual, "Callgrind Format Specification". This module reads
functions, their own costs and the costs of their calls, but no positions in source files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import NamedTuple, TypeVar

INSTRUCTIONS = "Ir"
"""Callgrind's name of the event that counts executed instructions."""

NO_SYMBOL = "(no symbol)"
"""The common name of all functions of a binary for which the binary has no name."""

_Key = TypeVar("_Key")

_NAME = re.compile(r"\((\d+)\)(?: (.*))?")
_ADDRESS = re.compile(r"0x[0-9a-f]+|\?\?\?")
_CLONE = re.compile(r"(?:\.(?:isra|constprop|part|cold|lto_priv)(?:\.\d+)?)+$")
"""Endings that a compiler gives to specialised copies; they differ from build to build."""


class FunctionKey(NamedTuple):
    """The identity of a function: its name, and the program or library it is in."""

    function: str
    binary: str


class Costs(NamedTuple):
    """What a function costs: ``own`` by itself, ``called`` in the functions that it calls.

    Each has one number for every event of the profile, such as executed instructions.
    """

    own: tuple[float, ...]
    called: tuple[float, ...]


Call = tuple[FunctionKey, FunctionKey]
"""A caller and the function that it calls."""


class CallgrindProfile(NamedTuple):
    """The costs of every function that ran; ``events`` names the kinds of cost.

    ``calls`` has the costs of the calls, including those of the functions that the callee calls in
    turn.
    """

    events: tuple[str, ...]
    costs: dict[FunctionKey, Costs]
    calls: dict[Call, tuple[float, ...]]


class CallgrindError(ValueError):
    """A file is not a complete file of callgrind; the text says why in one line."""


def complete(text: str) -> bool:
    """Return whether a callgrind file is complete."""
    return "\ntotals: " in text[-200:]


def parse(text: str) -> CallgrindProfile:
    """Parse a callgrind file: what every function costs.

    All unnamed functions of a binary count as one function, and specialised copies of a function
    count as that function. Direct recursion does not count as a call. Raises CallgrindError.
    """
    if not text.startswith("# callgrind format") or not complete(text):
        raise CallgrindError("callgrind's file is incomplete")
    return _Reader().read(text.splitlines())


class _Reader:
    """The state while a callgrind file is read."""

    def __init__(self) -> None:
        self._functions: dict[str, str] = {}
        self._binaries: dict[str, str] = {}
        self._own: dict[FunctionKey, list[float]] = {}
        self._called: dict[FunctionKey, list[float]] = {}
        self._calls: dict[Call, list[float]] = {}

    def read(self, lines: Iterable[str]) -> CallgrindProfile:
        events: tuple[str, ...] = ()
        binary = called_binary = ""
        present = callee = FunctionKey("", "")
        is_call = False
        for line in lines:
            first = line[:1]
            if first.isdigit() or (first in "+-*" and first):
                costs = line.split()[1:]
                if not is_call:
                    _add(self._own, present, costs, len(events))
                elif callee != present:
                    _add(self._called, present, costs, len(events))
                    _add(self._calls, (present, callee), costs, len(events))
                is_call, called_binary = False, ""
                continue
            key, _, value = line.partition("=")
            if key == "fn":
                present = FunctionKey(self._function(value), binary)
            elif key == "ob":
                binary = self._binary(value)
            elif key == "cob":
                called_binary = self._binary(value)
            elif key == "cfn":
                callee = FunctionKey(self._function(value), called_binary or binary)
            elif key == "calls":
                is_call = True
            elif line.startswith("events: "):
                events = tuple(line.split()[1:])
        none = (0.0,) * len(events)
        functions = {*self._own, *self._called}
        return CallgrindProfile(
            events,
            {
                key: Costs(tuple(self._own.get(key, none)), tuple(self._called.get(key, none)))
                for key in functions
            },
            {call: tuple(costs) for call, costs in self._calls.items()},
        )

    def _function(self, value: str) -> str:
        number, name = _numbered(value)
        if name is not None:
            self._functions[number] = _plain(name)
        return self._functions[number]

    def _binary(self, value: str) -> str:
        number, name = _numbered(value)
        if name is not None:
            self._binaries[number] = PurePath(name).name
        return self._binaries[number]


def _numbered(value: str) -> tuple[str, str | None]:
    found = _NAME.fullmatch(value)
    if found is None:
        raise CallgrindError(f"callgrind's file has an unknown name: {value[:60]}")
    return found[1], found[2]


def _plain(name: str) -> str:
    if _ADDRESS.fullmatch(name):
        return NO_SYMBOL
    return _CLONE.sub("", name)


def _add(sums: dict[_Key, list[float]], key: _Key, costs: list[str], events: int) -> None:
    """Add the costs on one line of a callgrind file."""
    held = sums.get(key)
    if held is None:
        held = sums[key] = [0.0] * events
    for at, cost in enumerate(costs):
        held[at] += float(cost)
