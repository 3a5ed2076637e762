"""The machine to tune: its kernel files, and the programs that change settings."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pipeline.machine.kernel_files import Tree
from pipeline.text.errors import first_line

PATIENCE = 1800.0
"""Seconds that a program may take: disabling swap reads all of it back into memory."""

Run = Callable[[Sequence[str]], str]
"""Runs a program and returns its output. Raises OSError if it is missing or fails."""


def run(argv: Sequence[str]) -> str:
    """Run a program that changes the machine. Raises OSError with a sentence if it fails."""
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, check=True, timeout=PATIENCE, errors="replace"
        )
    except (FileNotFoundError, PermissionError) as error:
        # A folder of the PATH that the user may not enter is a permission error, too.
        if shutil.which(argv[0]) is not None:
            raise
        raise OSError(f"{argv[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise OSError(f"{argv[0]} did not end within {PATIENCE:.0f} s") from error
    except subprocess.CalledProcessError as error:
        raise OSError(first_line(Exception(error.stderr or str(error)))) from error
    return done.stdout


@dataclass(frozen=True)
class Host:
    """The machine to tune: this one, or a fake one in tests."""

    tree: Tree = field(default_factory=Tree)
    run: Run = run

    @property
    def boot(self) -> str:
        """The id of the machine's present boot."""
        return self.tree.read("/proc/sys/kernel/random/boot_id")
