"""Two processes never make servers at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pipeline.fleet.lock import FILE, creation_lock
from pipeline.fleet.retry import RetryPolicy
from pipeline.text.errors import UserError
from tests.fakes.site import Sleeps
from tests.fleet.conftest import Scene


def test_another_process_is_waited_for_and_named(tmp_path: Path) -> None:
    sleeps, reported = Sleeps(), list[str]()
    policy = RetryPolicy(5.0, reported.append, lambda: sum(sleeps), sleeps)
    begun = creation_lock(tmp_path, policy)
    with creation_lock(tmp_path, policy), pytest.raises(UserError, match=f"process {os.getpid()}"):
        begun.__enter__()
    assert sleeps == [1, 2] and len(reported) == 1
    with creation_lock(tmp_path, policy):
        assert (tmp_path / FILE).read_text() == str(os.getpid())


def test_a_process_that_was_killed_does_not_hold_it(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path\n"
        "from pipeline.fleet.lock import creation_lock\n"
        "from pipeline.fleet.retry import RetryPolicy\n"
        "with creation_lock(Path(sys.argv[1]), RetryPolicy(1.0)): os.kill(os.getpid(), 9)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert ran.returncode == -9
    with creation_lock(tmp_path, RetryPolicy(0.0)):
        assert (tmp_path / FILE).read_text() == str(os.getpid())


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    begun = creation_lock(tmp_path / "results", RetryPolicy(0.0))
    with pytest.raises(UserError, match=r"cannot be written .* set paths\.results") as raised:
        begun.__enter__()
    assert "\n" not in str(raised.value)


def test_two_at_once_do_not_pass_a_budget_together(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What each asks for is within the budget of a month, and both are not."""
    # Time stands still: the one that waits would else sleep until the other's servers are past
    # their time to live before they are made, and cost next to nothing.
    monkeypatch.setattr(scene.time, "sleep", lambda seconds: time.sleep(0.01))
    scene.config = scene.configured(lambda text: text.replace('"20 EUR"', '"1 EUR"'))
    refused: list[str] = []

    def up(night: str) -> None:
        try:
            scene.fleet(patience=10**6).up(night)
        except UserError as error:
            refused.append(str(error))

    both = [threading.Thread(target=up, args=(night,)) for night in ("1", "2")]
    for each in both:
        each.start()
    for each in both:
        each.join()
    (line,) = refused
    assert "exceeds per_month = 1.00 EUR" in line
    assert len(scene.fake.project.things["servers"]) == 3
