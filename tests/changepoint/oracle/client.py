"""Asks Apache Otava, in its own environment, what it finds; and writes the golden indices.

python -m tests.changepoint.oracle.client    writes golden.json anew
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from changepoint.evaluate.field.engines import ORACLE, EngineEnvironment, EngineProcess, process
from tests.changepoint.oracle.drawn import collection

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
GOLDEN = HERE / "golden.json"
GOLDEN_SERIES = {"seed": 70_000_000, "count": 1200, "longest": 700}

Values = Sequence[float | None]


class NoOracleError(Exception):
    """An environment cannot be made; the message is its last word."""


@dataclass(frozen=True)
class Answer:
    """What Otava found in each series: indices, p-values (None is nan) and the seconds it took."""

    version: str
    indices: list[list[int]]
    pvalues: list[list[float | None]]
    seconds: list[float]


class Otava:
    """A running Otava."""

    def __init__(self, process: EngineProcess) -> None:
        self.process = process

    def ask(self, series: Sequence[Values], **options: Any) -> Answer:
        """Run it over some series with the options of its compute_change_points."""
        answer = self.process.run("otava", options, series)
        return Answer(self.process.versions["apache-otava"], **answer)


@contextmanager
def engines(environment: EngineEnvironment) -> Iterator[EngineProcess]:
    """Engines of others in their environment, made if it is not there. Raises NoOracleError."""
    made = subprocess.run(
        ["bash", *environment.command.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise NoOracleError((made.stderr.strip() or "no reason given").splitlines()[-1])
    with process(environment, Path(made.stdout.strip())) as running:
        yield running


@contextmanager
def running() -> Iterator[Otava]:
    """Otava in its environment, which is made if it is not there. Raises NoOracleError."""
    with engines(ORACLE) as process:
        yield Otava(process)


def main() -> None:
    """Write golden.json: what Otava finds in the series that ``GOLDEN_SERIES`` names."""
    drawn = collection(**GOLDEN_SERIES)
    with running() as otava:
        answer = otava.ask([each.values for each in drawn])
    lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in answer.indices)
    head = json.dumps({"otava": answer.version, **GOLDEN_SERIES})[:-1]
    GOLDEN.write_text(f'{head}, "indices": [\n{lines}\n]}}\n')
    sys.stdout.write(f"wrote {GOLDEN.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
