"""The command line as a person meets it: arguments in, exit code and two streams out."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pipeline.cli import main
from pipeline.measure.discover import discovered, remember
from pipeline.measure.run import Builds, build_key
from pipeline.model import Build, Cell, Mode, Origin, Provenance
from pipeline.transfer import assignment
from pipeline.use_cases import nightly
from pipeline.use_cases import run as run_stages
from pipeline.use_cases.measuring import MeasuringContext
from tests.cli.measured import Level, level, write_run
from tests.measure.samples import known

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


def nightshift_in(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Nightshift:
    """Return what runs the command line in this process, in the present folder."""

    def run(*args: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["nightshift", *args])
        capsys.readouterr()
        before = signal.getsignal(signal.SIGTERM)
        try:
            with pytest.raises(SystemExit) as ended:
                main()
        finally:
            signal.signal(signal.SIGTERM, before)
        streams = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Ran(code, streams.out, streams.err)

    return run


@pytest.fixture
def nightshift(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Nightshift:
    """Runs the command line in this process, in ``folder``."""
    return nightshift_in(monkeypatch, capsys)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bench whose runs are those of ``tests.cli.measured``, which were never measured."""
    monkeypatch.setattr(assignment, "ORIGIN", Origin.IMPORTED)


BUILD = Build(
    target="postgres",
    version="17.11",
    options="official",
    hash="",
    provenance=Provenance(source="x", locator="", sha256="", options="official"),
)


def make_up_runs(
    monkeypatch: pytest.MonkeyPatch,
    before: Callable[[int], None] = lambda _: None,
    levels: Level = level,
) -> list[tuple[str, int]]:
    """Let the runs of nights be made up; lists them. Calls ``before`` each with its number."""
    runs: list[tuple[str, int]] = []

    def run_all(
        remaining: Sequence[tuple[Cell, int]],
        *_: Any,
        preflight: Callable[[Mode], dict[str, str]],
        on_bundle: Callable[[Cell, int, Path], None],
        **__: Any,
    ) -> dict[str, str]:
        if remaining:
            preflight(Mode.TIME)
        context = MeasuringContext(Path("nightshift.toml"))
        for cell, repetition in remaining:
            before(len(runs))
            runs.append((cell.revision.label, repetition))
            on_bundle(cell, repetition, write_run(context, cell, repetition, levels))
        return {}

    monkeypatch.setattr(run_stages, "run_all", run_all)
    # Where nothing is measured, it matters to nobody what this machine is like.
    monkeypatch.setattr("pipeline.use_cases.measuring.preflight", lambda *_: {})
    return runs


@pytest.fixture
def night(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Let the stages that need a network or a server be done by the test; lists the runs."""

    def built(cells: Iterable[Cell], *_: Any) -> Builds:
        return Builds({build_key(cell): BUILD for cell in cells}, {})

    monkeypatch.setattr(nightly, "discover", lambda *_: discovered(folder / "results"))
    monkeypatch.setattr(run_stages, "build_all", built)
    return make_up_runs(monkeypatch)
