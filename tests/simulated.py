"""A simulated machine: the whole product runs as it is, but nothing is compiled or measured.

Two edges are replaced. :class:`pipeline.measure.build.Builder` hands out builds whose hash is that
of the commit's tree, and ``measure_cell`` writes a real bundle (sysbench's output as captured,
samples, settings) whose figures are a function of the revision, the step and seeded noise. Time is
simulated too: a run takes the seconds that it is said to take, and budgets are counted with it.
"""

from __future__ import annotations

import io
import json
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest
from sqlalchemy import Engine, event

import pipeline.experiments.runner
import pipeline.measure.run
import pipeline.storage.journal
import pipeline.use_cases.context
import pipeline.use_cases.measuring
from pipeline.cli import INTERRUPTED, main
from pipeline.measure.build import Builder, NotBuiltError
from pipeline.measure.execution import Bench
from pipeline.model import (
    Build,
    CallCost,
    Cell,
    FunctionCost,
    Machine,
    Manifest,
    Mode,
    Origin,
    Provenance,
    Revision,
    Step,
    StepCounts,
    StepRecord,
    StepStatus,
    Workload,
    digest,
)
from pipeline.probes.base import dump_samples
from pipeline.storage.bundle import BUNDLES, COUNTS_MEMBER, write_bundle
from pipeline.use_cases.context import Context
from pipeline.workloads.sysbench.family import Sysbench
from tests.nights import Night
from tests.repositories import git
from tests.storage.bundles import output, sample

BEGINNING = datetime(2026, 1, 5, 20, tzinfo=UTC)
"""When the clock of a simulated machine reads 0 s."""

CLASS = "tested"
"""The class of a simulated machine, unless its configuration or its environment names another."""

CPU_US = 80.0
"""Microseconds of CPU that an operation takes where nothing is slower."""

CONFIG = """
[paths]
results = "results"
cache = "cache"

[night]
repetitions = {repetitions}

[machine]
pin = false

[[build]]
name = "plain"

[[line]]
name = "line"
target = "sqlite"
source = "git"
repository = "repository"
build = "plain"
{line}

[[workload]]
name = "short"
config = "wal"
rows = 5000
steps = {steps}
{more}
"""


class Ran(NamedTuple):
    """What a command line left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Measured(NamedTuple):
    """A run that was begun: of a night, or of the experiment of this name."""

    experiment: str
    revision: str
    attempt: int
    run_id: str


class Slowness(Protocol):
    """How many times as long as usual an operation takes; None for a step that fails."""

    def __call__(self, cell: Cell, step: str, settings: Mapping[str, str]) -> float | None: ...


class Costs(Protocol):
    """How many instructions of its own each function executes per operation."""

    def __call__(self, cell: Cell, step: str) -> Mapping[str, float]: ...


def _usual_costs(cell: Cell, step: str) -> Mapping[str, float]:
    return {"parse": 4_000.0, "execute": 16_000.0}


COUNT_NOISE = 1e-5
"""The relative standard deviation of counted instructions."""


def _usual(cell: Cell, step: str, settings: Mapping[str, str]) -> float | None:
    return 1.0


@dataclass
class Simulation:
    """A folder with a repository and a configuration, and the machine that measures it.

    ``slowness`` is what its revisions are like, ``costs`` what counted runs count, ``noise`` the
    relative standard deviation of every timed figure, ``seconds`` what a run takes. Revisions in
    ``broken`` do not build. ``settings`` is what the server of a revision reports where its
    configuration says nothing. ``machine_class`` is that of the machine that measures now.
    """

    folder: Path
    slowness: Slowness = _usual
    costs: Costs = _usual_costs
    noise: float = 0.004
    seconds: float = 5.0
    build_seconds: float = 0.0
    broken: set[str] = field(default_factory=set)
    settings: Callable[[Revision], Mapping[str, str]] = lambda _: {}
    drift: Callable[[float], float] = lambda _: 1.0
    machine_class: str = CLASS
    idle: float = 0.0
    commits: list[str] = field(default_factory=list)

    # What the tests do.

    def configure(
        self,
        *,
        line: str = "",
        steps: Sequence[str] = ("point-query",),
        repetitions: int = 2,
        more: str = "",
    ) -> None:
        """Write the configuration."""
        text = CONFIG.format(
            line=line, steps=json.dumps(list(steps)), repetitions=repetitions, more=more
        )
        (self.folder / "nightshift.toml").write_text(text)

    def commit(self, subject: str = "") -> str:
        """Add a commit to the repository and return the name of its revision."""
        repository = self.folder / "repository"
        if not repository.exists():
            repository.mkdir()
            git(repository, "init", "-q")
        number = len(self.commits)
        (repository / "code").write_text(f"{number}\n")
        git(repository, "add", "code")
        dated = (BEGINNING - timedelta(days=1) + timedelta(minutes=number)).isoformat()
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("GIT_AUTHOR_DATE", dated)
            environment.setenv("GIT_COMMITTER_DATE", dated)
            git(repository, "commit", "-qm", subject or f"Commit {number}")
        self.commits.append(git(repository, "rev-parse", "HEAD")[:12])
        return self.commits[-1]

    def run(self, *verb: str, code: int = 0) -> Ran:
        """Run a verb in this process."""
        ran = invoke(*verb)
        said = f"{verb} ended with {ran.code}:\n{ran.err}\n{ran.out[-2000:]}"
        assert ran.code == code, said
        return ran

    def json(self, *verb: str) -> Any:
        return self.run(*verb, "--format", "json").json

    def kill(self, *verb: str, before: int = 0, by: signal.Signals = signal.SIGKILL) -> int:
        """Run a verb in a process of its own and kill it before this durable effect, from 1 on.

        Durable effects are files that are renamed or synchronised and transactions of the store
        that are committed. Without a number it is not killed; returns how many there were, or 0
        if it was killed, or stopped ``by`` ctrl-C.
        """
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _until(before, by, self.folder, writing, verb)
        os.close(writing)
        with os.fdopen(reading) as effects:
            reported = effects.read()
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL
            return 0
        code = os.waitstatus_to_exitcode(status)
        if by is signal.SIGINT and code == INTERRUPTED:
            return 0
        assert code == 0, reported
        return int(reported)

    def measured(self, experiment: str = "") -> list[Measured]:
        """Return the runs that were begun, in order: of the nights, or of experiments so named."""
        return [
            one
            for one in self._begun()
            if (one.experiment.startswith(experiment) if experiment else not one.experiment)
        ]

    def place(self, revision: str) -> int:
        """Return the number of a commit, by its revision's name."""
        return self.commits.index(revision.partition("#")[0])

    def regressions(self) -> list[Any]:
        """Return what the verb regressions lists."""
        listed: list[Any] = self.json("regressions")
        return listed

    def issues(self) -> dict[str, str]:
        """Return the texts of the issues by their names."""
        folder = self.folder / "results/issues"
        return {path.name: path.read_text() for path in sorted(folder.glob("*.md"))}

    def bundles(self, experiment: str = "") -> list[str]:
        """Return the names of the whole bundles of the nights, or of experiments so named."""
        where = f"results/experiments/{experiment}*" if experiment else "results"
        return sorted(path.name for path in self.folder.glob(f"{where}/{BUNDLES}/*.tar.zst"))

    def rows(self) -> list[tuple[Any, ...]]:
        """Return every measurement in the store."""
        return Night(self.folder).rows()

    # What the product asks.

    def clock(self) -> float:
        """Return the seconds that the runs and builds so far took, and those it was idle."""
        built = len(list((self.folder / "built").glob("*")))
        return self.idle + self.seconds * len(self._begun()) + self.build_seconds * built

    def now(self) -> datetime:
        return BEGINNING + timedelta(seconds=self.clock())

    def machine(self) -> Machine:
        return Machine(
            machine_class=self.machine_class,
            hostname=f"bench-{self.machine_class}",
            cpu_model="cpu",
            cores=2,
            memory_bytes=4 * 2**30,
            kernel="6.1",
            operating_system="Debian",
            virtualised="",
            storage="ext4",
        )

    def find(self, revision: Revision) -> Build | None:
        tree = self._tree(revision)
        return self._build(revision, tree) if (self.folder / "built" / tree).exists() else None

    def obtain(self, revision: Revision) -> Build:
        if revision.version in self.broken:
            raise NotBuiltError("code.c:1: error: unknown type name")
        tree = self._tree(revision)
        (self.folder / "built").mkdir(exist_ok=True)
        (self.folder / "built" / tree).touch()
        return self._build(revision, tree)

    def measure(self, cell: Cell, attempt: int, build: Build, bench: Bench, bundles: Path) -> Path:
        """Write the bundle of a run that takes its seconds."""
        experiment = "" if bundles.parent.name == "results" else bundles.parent.name
        started = self.now()
        begun = Measured(experiment, cell.revision.label, attempt, cell.run_id(attempt))
        with (self.folder / "begun").open("a") as log:
            log.write(json.dumps(begun) + "\n")
        settings = {**self.settings(cell.revision), **_configured(cell)}
        settings["version"] = "3.46.0"
        files = {"settings.json": json.dumps(settings).encode()}
        records = []
        for place, step in enumerate(cell.workload.steps, start=1):
            slowness = self.slowness(cell, step.name, settings)
            folder = f"steps/{place:02d}"
            record = StepRecord(
                step=step,
                status=StepStatus.FAILED if slowness is None else StepStatus.OK,
                started_at=started + timedelta(seconds=place),
                wall_seconds=1.2,
                command=("sysbench", "run"),
                folder=folder,
                database_bytes=8_000_000,
                note="exit code 1" if slowness is None else "",
            )
            records.append(record)
            if slowness is not None:
                # The rest of the name depends on the path of the folder.
                kind = experiment.partition("-")[0]
                draw = random.Random(digest([kind, begun.revision, attempt, step.name]))
                if cell.workload.mode is Mode.COUNT:
                    files |= _counts(folder, step, self.costs(cell, step.name), draw)
                    continue
                slowness *= self.drift((started - BEGINNING).total_seconds())
                faster, cpu = (draw.gauss(1.0, self.noise) for _ in range(2))
                files |= _figures(
                    folder, step, cell.workload, slowness / faster, CPU_US * slowness * cpu
                )
        manifest = Manifest(
            run_id=begun.run_id,
            origin=Origin.MEASURED,
            revision=cell.revision,
            build=build,
            config=cell.config,
            machine=bench.machine,
            workload=cell.workload,
            cell_key=cell.key,
            control=cell.control,
            repetition=attempt,
            started_at=started,
            ended_at=started + timedelta(seconds=self.seconds),
            pinning=bench.pinning,
            tools=bench.tools,
            preflight=bench.preflight,
            steps=tuple(records),
        )
        return write_bundle(bundles, manifest, files)

    def _begun(self) -> list[Measured]:
        try:
            lines = (self.folder / "begun").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [Measured(*json.loads(line)) for line in lines]

    def _tree(self, revision: Revision) -> str:
        return git(self.folder / "repository", "rev-parse", f"{revision.locator}^{{tree}}")

    def _build(self, revision: Revision, tree: str) -> Build:
        return Build(
            target=revision.target,
            version=revision.version,
            options="plain",
            hash=digest(tree),
            provenance=Provenance(
                source="git", locator=revision.locator, sha256=digest(tree), options="plain"
            ),
        )


def simulate(folder: Path, patched: pytest.MonkeyPatch) -> Simulation:
    """Let this process measure on a simulated machine, in ``folder``."""
    made = Simulation(folder)

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return made.now()

    def measure_cell(
        cell: Cell,
        repetition: int,
        build: Build,
        bench: Bench,
        _workspace: object,
        bundles: Path,
        *_: object,
    ) -> Path:
        return made.measure(cell, repetition, build, bench, bundles)

    patched.chdir(folder)
    patched.setattr(Builder, "find", lambda _, revision, options: made.find(revision))
    patched.setattr(Builder, "obtain", lambda _, revision, options: made.obtain(revision))
    patched.setattr(pipeline.measure.run, "measure_cell", measure_cell)
    patched.setattr(pipeline.experiments.runner, "measure_cell", measure_cell)
    patched.setattr(Context, "clock", lambda _: made.clock())
    patched.setattr(pipeline.storage.journal, "datetime", Clock)
    # What this machine is like says nothing of the one that is simulated.
    patched.setattr(pipeline.use_cases.context, "fingerprint", lambda *_: made.machine())
    patched.setattr(pipeline.use_cases.measuring, "preflight", lambda *_: {})
    patched.setattr(Sysbench, "tools", lambda _: {"sysbench": "sysbench 1.0.20"})
    return made


def invoke(*words: str) -> Ran:
    """Run the command line in this process."""
    arguments, handler = sys.argv, signal.getsignal(signal.SIGTERM)
    sys.argv = ["nightshift", *words]
    said, complained, code = io.StringIO(), io.StringIO(), 0
    try:
        with redirect_stdout(said), redirect_stderr(complained):
            main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.argv = arguments
        signal.signal(signal.SIGTERM, handler)
    return Ran(code, said.getvalue(), complained.getvalue())


def _until(
    effect: int, by: signal.Signals, folder: Path, writing: int, words: Sequence[str]
) -> None:
    """Run a verb in a child process, and signal that before an effect; never returns."""
    count = 0

    def about_to(*_: object) -> None:
        nonlocal count
        count += 1
        if count == effect:
            os.kill(os.getpid(), by)

    def audited(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "os.rename" and Path(os.fsdecode(arguments[0])).absolute().is_relative_to(
            folder
        ):
            about_to()

    really = os.fsync

    def fsync(descriptor: int) -> None:
        about_to()
        really(descriptor)

    os.fsync = fsync  # type: ignore[assignment]
    sys.addaudithook(audited)
    event.listen(Engine, "commit", about_to)
    try:
        ran = invoke(*words)
        os.write(writing, (ran.err if ran.code else str(count)).encode())
        os._exit(ran.code)
    except BaseException as error:
        os.write(writing, repr(error).encode())
        os._exit(1)


def _configured(cell: Cell) -> dict[str, str]:
    """Return the settings that a configuration of SQLite makes."""
    found = {}
    for line in cell.config.text.splitlines():
        if line.startswith("PRAGMA ") and " = " in line:
            name, _, value = line.removeprefix("PRAGMA ").rstrip(";").partition(" = ")
            found[name] = value.strip("'")
    return found


def _figures(
    folder: str, step: Step, workload: Workload, slowness: float, cpu_us: float
) -> dict[str, bytes]:
    """Return the output and the samples of a step in which an operation takes so long."""
    text = output(step.name.partition("_")[0], 1.0 / slowness)
    done = Sysbench().parse(step, workload, text.decode())
    rate = done.operations / done.seconds
    seconds = 3.0
    samples = [
        sample(0.0, server__cpu_us=0.0, server__rss=1e7),
        sample(seconds, server__cpu_us=cpu_us * rate * seconds, server__rss=1e7),
    ]
    return {f"{folder}/stdout.txt": text, f"{folder}/samples.jsonl": dump_samples(samples)}


def _counts(
    folder: str, step: Step, costs: Mapping[str, float], draw: random.Random
) -> dict[str, bytes]:
    """Return the output and the counts of a step whose functions are all called by main."""
    exact = draw.gauss(1.0, COUNT_NOISE)
    functions = [
        FunctionCost(function=name, binary="engine.so", self_cost=cost, inclusive_cost=cost)
        for name, cost in costs.items()
    ]
    functions.sort(key=lambda each: -each.self_cost)
    whole = sum(costs.values())
    main = FunctionCost(function="main", binary="engine.so", self_cost=0.0, inclusive_cost=whole)
    counts = StepCounts(
        operations=(1000.0, 2000.0),
        instructions=whole * exact,
        waiting=1234.0,
        functions=(*functions, main),
        calls=tuple(
            CallCost(len(functions), place, each.self_cost) for place, each in enumerate(functions)
        ),
    )
    return {
        f"{folder}/stdout.txt": output(step.name.partition("_")[0]),
        f"{folder}/{COUNTS_MEMBER}": counts.model_dump_json().encode(),
    }


def counted(runs: Sequence[Measured]) -> Counter[str]:
    """Return how often each revision was measured."""
    return Counter(run.revision for run in runs)
