"""The ports of tests: two runs on one machine never choose the same one."""

from __future__ import annotations

import subprocess
import sys

from tests.ports import free_port


def test_another_run_of_the_tests_has_other_ports() -> None:
    script = "from tests.ports import free_port; print(*(free_port() for _ in range(3)))"
    own = {free_port() for _ in range(3)}
    other = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout
    assert len(own) == 3
    assert own.isdisjoint(map(int, other.split()))
