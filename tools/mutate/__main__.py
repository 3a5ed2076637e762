"""Change the core modules in small ways and count how often their tests notice.

    python -m tools.mutate                         every mutant of every module
    python -m tools.mutate --sample 60 --seed 1    so many of each module, chosen by the seed
    python -m tools.mutate --module choose         one module; may be repeated
    python -m tools.mutate --known                 the mutants of known.toml, which once survived

Prints each survivor and a table of scores. The exit code is 1 if a module's score is below 85 %,
or if one of the known mutants survives. ``modules.toml`` declares the modules and their tests;
``equivalent.toml`` lists mutants that behave as the code does, with the reason.
"""

from __future__ import annotations

import argparse
import random
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

from tools.mutate.mutants import mutants_of
from tools.mutate.runner import FORK, ROOT, Change, Module, survivors

HERE = ROOT / "tools" / "mutate"

LEAST_SCORE = 0.85
"""Minimum share of mutants that the tests of each module must detect."""


class Candidate(NamedTuple):
    """A mutant to run and to print."""

    change: Change
    line: int
    old: str
    new: str

    @property
    def reported(self) -> str:
        """The mutant as the lines of a diff."""
        return f"{self.change.path}:{self.line}\n  - {self.old}\n  + {self.new}"


class Score(NamedTuple):
    """A line of the table."""

    module: str
    killed: int
    survived: int

    @property
    def share(self) -> float:
        """Share of the detected mutants; 1 if there are none."""
        return self.killed / max(self.killed + self.survived, 1)


def declared(name: str) -> Any:
    """Return a file of declarations beside this one."""
    return tomllib.loads((HERE / f"{name}.toml").read_text())


def modules() -> dict[str, Module]:
    """Return the modules by name."""
    return {each["name"]: Module(**each) for each in declared("modules")["module"]}


def sampled(module: Module, count: int | None, seed: int) -> list[Candidate]:
    """Return the mutants of a module, or a sample of them, without equivalent ones."""
    same = {(each["file"], each["old"], each["new"]) for each in declared("equivalent")["mutant"]}
    candidates = []
    for path in module.files:
        source = (ROOT / path).read_text()
        for mutant in mutants_of(path, source, module.ties):
            line, old, new = mutant.lines(source)
            if (path, old, new) not in same:
                change = Change(path, mutant.apply(source))
                candidates.append(Candidate(change, line, old, new))
    if count is None or count >= len(candidates):
        return candidates
    return random.Random(seed).sample(candidates, count)


def known(module: Module) -> list[Candidate]:
    """Return the mutants of a module that once survived. Raises ValueError if one is gone."""
    candidates = []
    for each in declared("known")["mutant"]:
        if each["module"] != module.name:
            continue
        source = (ROOT / each["file"]).read_text()
        old = each["old"]
        if source.count(old) != 1:
            raise ValueError(
                f"mutant {each['name']}: its text must occur once in {each['file']}: {old}"
            )
        line = source[: source.index(old)].count("\n") + 1
        change = Change(each["file"], source.replace(old, each["new"]))
        candidates.append(
            Candidate(change, line, old.strip(), f"{each['new'].strip()}  # {each['name']}")
        )
    return candidates


def examine(module: Module, candidates: Sequence[Candidate], workers: int) -> Score:
    """Run the tests of a module on each mutant and print those that survive."""
    print(f"{module.name}: {len(candidates)} mutants")
    survived = survivors(module, [each.change for each in candidates], workers)
    for candidate, alive in sorted(zip(candidates, survived, strict=True)):
        if alive:
            print(candidate.reported)
    return Score(module.name, survived.count(False), survived.count(True))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutate")
    parser.add_argument("--module", action="append", choices=sorted(modules()))
    parser.add_argument(
        "--sample", type=int, help="number of mutants of each module (default: all)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--known", action="store_true", help="run only the mutants in known.toml")
    asked = parser.parse_args(arguments)
    scores = []
    for name, module in modules().items():
        if name in (asked.module or modules()):
            chosen = known(module) if asked.known else sampled(module, asked.sample, asked.seed)
            # In a separate process, so that imports of one module do not affect the next.
            with ProcessPoolExecutor(1, FORK) as pool:
                scores.append(pool.submit(examine, module, chosen, asked.workers).result())
    print(f"\n{'module':<14}{'mutants':>8}{'killed':>8}{'survived':>10}{'score':>8}")
    for score in scores:
        total = score.killed + score.survived
        print(
            f"{score.module:<14}{total:>8}{score.killed:>8}{score.survived:>10}{score.share:>8.0%}"
        )
    enough = 1.0 if asked.known else LEAST_SCORE
    return int(any(score.share < enough for score in scores))


if __name__ == "__main__":
    sys.exit(main())
