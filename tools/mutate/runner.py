"""Run the tests of a module on its mutants, each in its own process and copy of the tree."""

from __future__ import annotations

import contextlib
import importlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

OURS = ("benchmarks", "changepoint", "conftest", "pipeline", "tests", "tools")
"""Packages of the tree: each run imports them from its own copy."""

PATIENCE = 5.0
"""Time limit of the tests of a mutant, as a multiple of their time without a mutant."""

LEAST_SECONDS = 30.0
"""Minimum time limit in seconds."""

FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Module:
    """A group of mutated files, and the pytest arguments that select its tests.

    Without ``ties``, mutants that differ only for equal numbers are left out.
    """

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    ties: bool = True


class Change(NamedTuple):
    """A file of the tree, and its content for one run."""

    path: str
    source: str


def survivors(module: Module, changes: Sequence[Change], workers: int) -> list[bool]:
    """Return for each change whether the tests of the module pass with it.

    Prints a dot for each. Raises RuntimeError if the tests do not pass without a change.
    """
    survived = [True] * len(changes)
    with tempfile.TemporaryDirectory(prefix="mutate-") as scratch:
        trees = [_tree(Path(scratch), n) for n in range(min(workers, max(len(changes), 1)))]
        limit = _prepare(module, trees)
        waiting, running = list(enumerate(changes)), dict[BaseProcess, _Run]()
        while waiting or running:
            while trees and waiting:
                number, change = waiting.pop(0)
                run = _Run(number, trees.pop(), change, time.monotonic() + limit)
                running[run.start(module)] = run
            wait([process.sentinel for process in running], timeout=1.0)
            for process, run in list(running.items()):
                if process.is_alive() and time.monotonic() < run.deadline:
                    continue
                survived[run.number] = run.end(process) == 0
                trees.append(running.pop(process).tree)
                print("S" if survived[run.number] else ".", end="", flush=True)
    print()
    return survived


@dataclass
class _Run:
    """The tests of a module on one change."""

    number: int
    tree: Path
    change: Change
    deadline: float

    def start(self, module: Module) -> BaseProcess:
        file = self.tree / self.change.path
        self._unchanged = file.read_text(), file.stat().st_mtime
        file.write_text(self.change.source)
        # Another time than that of the file that is compiled already.
        os.utime(file, (1e9, 1e9))
        return _started(module, self.tree)

    def end(self, process: BaseProcess) -> int:
        """Stop remaining processes, restore the file and return the exit code of the tests."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
        source, modified = self._unchanged
        file = self.tree / self.change.path
        file.write_text(source)
        os.utime(file, (modified, modified))
        return process.exitcode or 0


def _tree(scratch: Path, number: int) -> Path:
    """Copy the tree without hidden files and results, but with compiled files."""
    return shutil.copytree(
        ROOT, scratch / str(number), ignore=shutil.ignore_patterns(".*", "results", "docs")
    )


def _prepare(module: Module, trees: Sequence[Path]) -> float:
    """Run the tests without a mutant and return the time limit for a mutant, in seconds.

    Third-party packages are imported here, once for all runs.
    """
    os.environ.update(module.environment)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for tree in trees:
        _check(module, _started(module, tree, learn=True), tree)
    for name in json.loads((trees[0] / "imported.json").read_text()):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    began = time.monotonic()
    _check(module, _started(module, trees[0]), trees[0])
    return max(PATIENCE * (time.monotonic() - began), LEAST_SECONDS)


def _check(module: Module, process: BaseProcess, tree: Path) -> None:
    process.join()
    if process.exitcode != 0:
        raise RuntimeError(f"the tests of {module.name} fail: {(tree / 'output').read_text()}")


def _started(module: Module, tree: Path, learn: bool = False) -> BaseProcess:
    process = FORK.Process(target=_test, args=(module, tree, learn))
    process.start()
    return process


def _test(module: Module, tree: Path, learn: bool) -> None:
    """Run the tests in this forked process, and end it."""
    os.setsid()
    os.chdir(tree)
    output = os.open(tree / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    for name in [name for name in sys.modules if name.split(".")[0] in OURS]:
        del sys.modules[name]
    sys.path[:] = [str(tree), *(path for path in sys.path if path not in ("", str(ROOT)))]
    os.environ["PYTHONPATH"] = str(tree)
    sys.dont_write_bytecode = not learn
    pytest = importlib.import_module("pytest")
    options = ["-qx", "-pno:cacheprovider", f"--basetemp={tree / 'scratch'}"]
    # pytest's plugins were imported before the fork.
    options += ["-Wignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    code = int(pytest.main([*options, *module.tests]))
    if learn:
        names = [name for name in sys.modules if name.split(".")[0] not in (*OURS, "__main__")]
        (tree / "imported.json").write_text(json.dumps(names))
    sys.stdout.flush()
    os._exit(code)
