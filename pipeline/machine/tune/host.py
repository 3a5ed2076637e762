"""The machine that is tuned: the kernel's files and the programs that act on it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pipeline.errors import first_line
from pipeline.machine.tree import Tree

PATIENCE = 1800.0
"""Seconds that a program may take: emptying swap reads all of it back into memory."""

Run = Callable[[Sequence[str]], str]
"""Runs a program and returns what it printed. Raises OSError where it is missing or fails."""


def run(argv: Sequence[str]) -> str:
    """Run a program of this machine. Raises OSError, in a sentence, where it fails."""
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, check=True, timeout=PATIENCE, errors="replace"
        )
    except FileNotFoundError as error:
        raise OSError(f"{argv[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise OSError(f"{argv[0]} did not end in {PATIENCE:.0f} s") from error
    except subprocess.CalledProcessError as error:
        raise OSError(first_line(Exception(error.stderr or str(error)))) from error
    return done.stdout


@dataclass(frozen=True)
class Host:
    """This machine, or one that is made up."""

    tree: Tree = field(default_factory=Tree)
    run: Run = run

    @property
    def boot(self) -> str:
        """What tells one start of the machine from another."""
        return self.tree.read("/proc/sys/kernel/random/boot_id")
