"""The command line as a person meets it: arguments in, exit code and two streams out."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pipeline.cli import main
from pipeline.execute.discover import remember
from tests.execute.samples import known

CONFIG = """\
[paths]
results = "results"
cache = "cache"

[machine]
class = "tested"

[[line]]
name = "minors"
target = "postgres"
since = "17.9"
until = "17"

[[workload]]
name = "cached"
steps = ["scan", "point-query"]
"""

LONGER = CONFIG.replace('since = "17.9"', 'since = "13"').replace('until = "17"', 'until = "18"')
"""Enough revisions for a change to be found: nine, with a step at 17.10."""

NOT_AGAIN = '[confirm]\nnight = "0s"\n'
"""No suspicion is measured again: where runs are made up, there is nothing to measure."""


class Ran(NamedTuple):
    """What a command line left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Nightshift = Callable[..., Ran]


@pytest.fixture
def folder(server_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a configuration and remembered releases; no network is used."""
    monkeypatch.chdir(server_folder)
    (server_folder / "nightshift.toml").write_text(CONFIG)
    remember(known(), server_folder / "results")
    return server_folder


@pytest.fixture
def nightshift(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Nightshift]:
    """Runs the command line in this process, in ``folder``."""

    def run(*args: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["nightshift", *args])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        streams = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Ran(code, streams.out, streams.err)

    before = signal.getsignal(signal.SIGTERM)
    yield run
    signal.signal(signal.SIGTERM, before)
