"""The compared detection programs, ours and others, with one interface.

Other engines run in their own environments (``tools/oracle``), because they need other versions of
numpy. A process of such an environment runs ``serve.py`` and measures the duration of a call
itself, without the communication.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, cast

from changepoint.api import detect, methods
from changepoint.series import Floats


@dataclass(frozen=True, slots=True)
class Run:
    """What a detection program found in a series, and how many seconds it took."""

    indices: list[int]
    seconds: float


Engine = Callable[[Floats], Run]


class NotInstalledError(Exception):
    """A compared program is not installed; the text says how to install it."""


class EngineError(Exception):
    """The process of a compared program ended before it answered."""


@dataclass(frozen=True, slots=True)
class EngineEnvironment:
    """A Python environment for compared programs, beside ours."""

    name: str
    packages: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command that installs the environment."""
        return f"tools/oracle {self.name}"

    def interpreter(self) -> Path:
        """The path of the environment's Python, which may not exist."""
        chosen = os.environ.get(f"NIGHTSHIFT_{self.name.upper()}")
        return Path(chosen or f"{sys.prefix}-{self.name}") / "bin" / "python"


ORACLE = EngineEnvironment("oracle", ("apache-otava", "numpy", "scipy"))
RIVALS = EngineEnvironment("rivals", ("signal-processing-algorithms", "ruptures", "numpy", "scipy"))


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """A detection program in the table of the comparison.

    about: its settings in words. share: its share of the trials, less than 1 for a slow one.
    longest: length of series beyond which it is not timed. environment, engine, options: for
    another engine, the arguments of ``serve.py``. method: for one of ours.
    """

    about: str
    share: float = 1.0
    longest: int = 10_000
    method: str = ""
    environment: EngineEnvironment = ORACLE
    engine: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


_SLOW = {"edivisive": EngineEntry("", share=0.02, longest=100)}
"""Entries of our methods that are too slow to search all series: they search a share of them."""


def _ours(method: str) -> EngineEntry:
    slow = _SLOW.get(method, EngineEntry(""))
    about = f"detect(values, method={method!r}): its defaults"
    return EngineEntry(about, share=slow.share, longest=slow.longest, method=method)


ENTRIES: Mapping[str, EngineEntry] = MappingProxyType(
    {
        # The slow ones last: rows are printed as they become available.
        **{method: _ours(method) for method in sorted(methods(), key=_SLOW.__contains__)},
        "otava": EngineEntry(
            "compute_change_points(values): its defaults", share=0.2, engine="otava"
        ),
        "otava-1e-4": EngineEntry(
            "the same with max_pvalue=1e-4",
            share=0.2,
            engine="otava",
            options={"max_pvalue": 1e-4},
        ),
        "mongodb": EngineEntry(
            "e_divisive(values, pvalue=0.05, permutations=100): its defaults",
            share=0.05,
            longest=1000,
            environment=RIVALS,
            engine="mongodb",
            options={"pvalue": 0.05, "permutations": 100},
        ),
        "ruptures-pelt": EngineEntry(
            "Pelt(model='l2') with jump=5, its default, penalty 3 log(n) variances of the noise",
            share=0.1,
            longest=1000,
            environment=RIVALS,
            engine="pelt",
            options={"penalty": 3.0},
        ),
        "ruptures-rbf": EngineEntry(
            "KernelCPD(kernel='rbf') with penalty log(n)",
            share=0.5,
            environment=RIVALS,
            engine="kernel",
            options={"penalty": 1.0},
        ),
        "ruptures-rbf-1.25": EngineEntry(
            "the same with penalty 1.25 log(n)",
            share=0.5,
            environment=RIVALS,
            engine="kernel",
            options={"penalty": 1.25},
        ),
    }
)


class EngineProcess:
    """A running process of compared programs."""

    def __init__(
        self, questions: IO[str], answers: IO[str], environment: EngineEnvironment
    ) -> None:
        self._questions = questions
        self._answers = answers
        self._environment = environment
        self.versions: dict[str, str] = self.ask(packages=environment.packages)["versions"]

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request to the process and return its answer. Raises EngineError."""
        try:
            self._questions.write(json.dumps(request) + "\n")
            self._questions.flush()
            line = self._answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise EngineError(
                "the engine's process ended (standard error says why); delete its environment "
                f"and run {self._environment.command}"
            )
        answer: dict[str, Any] = json.loads(line)
        return answer

    def run(
        self, engine: str, options: Mapping[str, Any], series: Sequence[Sequence[float | None]]
    ) -> dict[str, Any]:
        """Let a program search series; return changes, p-values and seconds."""
        return self.ask(
            engine=engine, options=dict(options), series=[list(values) for values in series]
        )


@contextmanager
def process(
    environment: EngineEnvironment, interpreter: Path | None = None
) -> Iterator[EngineProcess]:
    """Start the process of an environment's programs.

    Raises NotInstalledError if the environment is missing, EngineError if its packages are missing.
    """
    python = interpreter or environment.interpreter()
    if not python.exists():
        raise NotInstalledError(f"not installed: run {environment.command}")
    with subprocess.Popen(
        [str(python), str(Path(__file__).with_name("serve.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        # Both are pipes, as requested above.
        questions, answers = cast(IO[str], running.stdin), cast(IO[str], running.stdout)
        try:
            yield EngineProcess(questions, answers, environment)
        finally:
            # A request without a reader is still in the pipe's buffer.
            with suppress(BrokenPipeError):
                questions.close()


def ours(method: str, kinds: Sequence[str] = ("level", "spread")) -> Engine:
    """Return one of our detection methods in the common interface.

    kinds: the kinds of changes that count.
    """

    def run(values: Floats) -> Run:
        start = time.perf_counter()
        found = detect(values, method=method)
        seconds = time.perf_counter() - start
        return Run([each.index for each in found.changes if each.kind in kinds], seconds)

    return run


def other(entry: EngineEntry, running: EngineProcess) -> Engine:
    """Return another detection program in the common interface."""

    def run(values: Floats) -> Run:
        answer = running.run(entry.engine, entry.options, [values.tolist()])
        return Run(answer["indices"][0], answer["seconds"][0])

    return run
