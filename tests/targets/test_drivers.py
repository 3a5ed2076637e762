"""A driver is a trouble of the target that needs it, and of no other."""

from __future__ import annotations

import subprocess
import sys

WITHOUT = """
import sys
sys.modules["pymysql"] = None
sys.argv = ["nightshift", "targets"]
from pipeline.cli import main
main()
"""


def test_without_its_driver_a_target_can_be_listed() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    assert "mariadb" in shown.stdout
