"""Runs verbs on a simulated machine whose disk becomes full.

``python -m tests.real.faults.small_disk FOLDER`` with ``full_disk.c`` preloaded reads requests, one
JSON list (verb, number of the call that fails, whether later ones fail too) a line. It runs each in
a process of its own and answers with its exit code, its messages, and the number of calls that need
space.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import traceback
from pathlib import Path

import pytest

from tests.simulated import invoke, simulate


def answer(verb: str, number: int, *, lasting: bool) -> None:
    """Run a verb in this process, with the disk full from a call on; write the answer."""
    disk = ctypes.CDLL(None)
    disk.full_disk_arm(number, int(lasting))
    try:
        ran = invoke(verb)
        code, message = ran.code, ran.err
    except BaseException:
        code, message = 1, traceback.format_exc()
    calls = disk.full_disk_calls()
    disk.full_disk_arm(0, 0)
    os.write(1, (json.dumps([code, message, calls]) + "\n").encode())


def main() -> None:
    """Answer requests until there are no more."""
    with pytest.MonkeyPatch.context() as patched:
        simulate(Path(sys.argv[1]), patched)
        for line in sys.stdin:
            verb, number, lasting = json.loads(line)
            child = os.fork()
            if child == 0:
                answer(verb, number, lasting=lasting)
                os._exit(0)
            os.waitpid(child, 0)


if __name__ == "__main__":
    main()
