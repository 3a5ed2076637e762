"""Actors on one results folder: each runs command lines, every one in a process of its own."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tests.simulated import Ran, invoke

Job = Callable[[random.Random, int], Sequence[str]]
"""Chooses the next command line of an actor: its chance, and the number of the call."""


class Called(NamedTuple):
    """A command line that an actor ran."""

    actor: str
    command: tuple[str, ...]
    ran: Ran

    @property
    def name(self) -> str:
        return f"{self.actor}: nightshift {' '.join(self.command)}"


class Actor:
    """Runs command lines in a process until a deadline, and keeps what became of each."""

    def __init__(self, name: str, job: Job, seed: int, log: Path) -> None:
        self.name, self._job, self._seed = name, job, seed
        self._log = log / f"{name}.jsonl"
        self._process = 0

    def start(self, deadline: float) -> None:
        self._process = _forked(lambda: self._act(deadline))

    def join(self) -> None:
        _, status = os.waitpid(self._process, 0)
        assert os.waitstatus_to_exitcode(status) == 0, self.name

    def calls(self) -> Iterator[Called]:
        for line in self._log.read_text().splitlines():
            command, *ran = json.loads(line)
            yield Called(self.name, tuple(command), Ran(*ran))

    def _act(self, deadline: float) -> None:
        chance = random.Random(self._seed)
        number = 0
        while time.monotonic() < deadline:
            command = self._job(chance, number)
            number += 1
            _wait_for(_forked(partial(self._call, command)))

    def _call(self, command: Sequence[str]) -> None:
        _log(self._log, command)


def alone(folder: Path, *command: str) -> Ran:
    """Run a command line in a process of its own; its result passes through a file in a folder."""
    log = folder / "alone.jsonl"
    log.unlink(missing_ok=True)
    _wait_for(_forked(lambda: _log(log, command)))
    _, *ran = json.loads(log.read_text())
    return Ran(*ran)


def _log(log: Path, command: Sequence[str]) -> None:
    """Run a command line in this process, and write what became of it to a log."""
    ran: Any
    try:
        ran = invoke(*command)
    except BaseException:  # A bug of a verb, which the test shows.
        ran = (1, "", traceback.format_exc())
    with log.open("a") as file:
        file.write(json.dumps([list(command), *ran]) + "\n")


def importing(chunks: Sequence[Path]) -> Job:
    """Collect from folders that were packed elsewhere, in any order, again and again."""
    return lambda chance, _: ("collect", str(chance.choice(chunks)))


def moving(bundles: Sequence[Path], to: Path) -> Job:
    """Move bundles into the results one by one, as a person does, and ingest them."""
    waiting = list(bundles)

    def job(_chance: random.Random, number: int) -> Sequence[str]:
        if number < len(waiting):
            path = waiting[number]
            partial = to / f"{path.name}.partial"
            shutil.copyfile(path, partial)
            partial.rename(to / path.name)
        return ("ingest",)

    return job


def deciding(name: str, fingerprints: Sequence[str]) -> Job:
    """Decide about regressions, each time with a note of its own."""

    def job(chance: random.Random, number: int) -> Sequence[str]:
        note = ("--note", f"{name} {number}")
        regression = chance.choice(fingerprints)
        return chance.choice(
            (
                ("ack", regression, "--until", "2031-01-01", *note),
                ("wontfix", regression, *note),
                ("wontfix", regression, *note),
                ("reopen", regression, *note),
                ("mute", "--step", f"{name}-{number}", *note),
            )
        )

    return job


def reading(name: str, folder: Path) -> Job:
    """Look at the results."""
    commands = (
        ("regressions", "--format", "json"),
        ("table",),
        ("plan",),
        ("nights",),
        ("ledger",),
        ("replay",),
        ("environment",),
        ("mute",),
        ("notify", "--dry-run"),
        ("site", "--output", str(folder / name)),
    )
    return lambda chance, _: chance.choice(commands)


def _forked(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:  # The parent sees the exit code.
            traceback.print_exc()
        finally:
            os._exit(1)
    return child


def _wait_for(child: int) -> None:
    os.waitpid(child, 0)
