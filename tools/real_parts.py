"""The lane ``make test-real``: run the parts whose inputs changed since they were last green.

A part is a folder of tests/real. Its ``part.toml`` says what it shows and which files of the
product it depends on; its own files and the modules of tests/ that these import are inputs, too.
A part that lacks the file has unknown inputs: it is always run and never recorded. The record of
the last green run of each part is tests/real/green.json, which is committed with the change.

    python -m tools.real_parts                  # run what changed
    python -m tools.real_parts --list           # say what would be run, and why
    python -m tools.real_parts --all            # run every part
    python -m tools.real_parts infra browser    # run these parts
    python -m tools.real_parts --record-of REF  # believe the record of that commit alone
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
REAL = Path("tests/real")
RECORD = REAL / "green.json"
COMMON = ("requirements-dev.lock", "tests/conftest.py", "tests/skips.py")
"""Inputs of every part: the versions of what tests are run with, and what all tests share."""


@dataclass(frozen=True)
class Part:
    """One folder of tests/real.

    ``inputs`` are files and folders relative to the root, ``tools`` what ``tools/setup`` builds for
    this part alone. ``parallel`` parts measure nothing, so their tests run on all cores.
    """

    name: str
    shows: str = ""
    inputs: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    parallel: bool = False
    declared: bool = True

    @property
    def folder(self) -> Path:
        """The folder of the part, relative to the root."""
        return REAL / self.name


@dataclass(frozen=True)
class Decision:
    """Whether a part is run, and why."""

    part: Part
    run: bool
    why: str


@dataclass
class Outcome:
    """How the run of a part ended. ``missing`` are tests skipped for want of a capability."""

    part: Part
    code: int
    seconds: float
    passed: int = 0
    missing: list[str] = field(default_factory=list)

    @property
    def green(self) -> bool:
        """Whether every test of the part ran and passed."""
        return self.code == 0 and self.passed > 0 and not self.missing


def read_parts(root: Path) -> list[Part]:
    """Return the parts of a checkout by name. Raises ValueError for a wrong ``part.toml``."""
    parts = []
    for folder in sorted(each for each in (root / REAL).iterdir() if any(each.glob("test_*.py"))):
        declaration = folder / "part.toml"
        if not declaration.exists():
            parts.append(Part(folder.name, declared=False))
            continue
        table = tomllib.loads(declaration.read_text())
        unknown = table.keys() - {"shows", "inputs", "tools", "parallel"}
        if unknown:
            raise ValueError(f"{declaration}: unknown settings {', '.join(sorted(unknown))}")
        lost = [each for each in table["inputs"] if not (root / each).exists()]
        if lost:
            raise ValueError(f"{declaration}: these inputs do not exist: {', '.join(lost)}")
        parts.append(
            Part(
                folder.name,
                table["shows"],
                tuple(table["inputs"]),
                tuple(table.get("tools", ())),
                table.get("parallel", False),
            )
        )
    return parts


def all_inputs(part: Part, root: Path) -> list[str]:
    """Return the inputs of a part: declared, common, its own folder, and what its tests import."""
    own = sorted((root / part.folder).rglob("*.py"))
    imported = {str(path.relative_to(root)) for path in _imported(own, root)}
    outside = {path for path in imported if not Path(path).is_relative_to(part.folder)}
    return sorted({*part.inputs, *COMMON, str(part.folder), *outside})


def _imported(paths: Iterable[Path], root: Path) -> set[Path]:
    """Return the modules of tests/ that modules import, directly or through others."""
    found: set[Path] = set()
    left = list(paths)
    while left:
        for name in _names(ast.parse(left.pop().read_text())):
            stem = root.joinpath(*name.split("."))
            for path in (stem.with_suffix(".py"), stem / "__init__.py"):
                if path.exists() and path not in found:
                    found.add(path)
                    left.append(path)
    return found


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield what a module imports of the package tests: modules, and names that may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name for name in names if name.partition(".")[0] == "tests")


def digests(inputs: Iterable[str], root: Path) -> dict[str, str]:
    """Return a digest of the content of each input. Files that git ignores do not count.

    Of a Python file its code counts: comments, docstrings and layout cannot change what a part
    shows.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    files = sorted({name for name in listed if name and (root / name).is_file()})
    found = {}
    for each in inputs:
        total = hashlib.sha256()
        for name in files:
            if Path(name).is_relative_to(each):
                content = hashlib.sha256(_content(root / name)).hexdigest()
                total.update(f"{name}\0{content}\n".encode())
        found[each] = total.hexdigest()[:16]
    return found


def _content(path: Path) -> bytes:
    """Return what counts of a file."""
    content = path.read_bytes()
    if path.suffix != ".py":
        return content
    tree = ast.parse(content)
    for node in ast.walk(tree):
        for name, body in ast.iter_fields(node):
            if isinstance(body, list):
                # Docstrings of modules, classes, functions and, below them, constants.
                setattr(node, name, [each for each in body if not _is_text(each)])
    return ast.unparse(tree).encode()


def _is_text(node: object) -> bool:
    """Whether a statement is nothing but a string."""
    match node:
        case ast.Expr(ast.Constant(str())):
            return True
    return False


def read_record(root: Path, commit: str = "") -> dict[str, Any]:
    """Return the record of green runs, of the checkout or of a commit; empty if there is none."""
    if commit:
        shown = subprocess.run(
            ["git", "show", f"{commit}:{RECORD}"],
            cwd=root,
            check=False,
            capture_output=True,
            text=True,
        )
        text = shown.stdout if shown.returncode == 0 else "{}"
    else:
        path = root / RECORD
        text = path.read_text() if path.exists() else "{}"
    record: dict[str, Any] = json.loads(text)
    return record


def decide(part: Part, now: Mapping[str, str], record: Mapping[str, Any]) -> Decision:
    """Decide whether a part has to be run, from its inputs now and as they were when it passed."""
    if not part.declared:
        return Decision(part, True, "it declares no inputs (no part.toml)")
    known = record.get(part.name)
    if known is None:
        return Decision(part, True, "no green run is recorded")
    before = known["inputs"]
    changed = [each for each in sorted({*now, *before}) if now.get(each) != before.get(each)]
    if changed:
        more = f" and {len(changed) - 3} more inputs" if len(changed) > 3 else ""
        shown = ", ".join(changed[:3])
        return Decision(part, True, f"changed since it was green on {known['date']}: {shown}{more}")
    return Decision(part, False, f"inputs unchanged since it was green on {known['date']}")


def run_part(part: Part, root: Path, more: Sequence[str]) -> Outcome:
    """Run the tests of a part. Its output goes to standard output."""
    report = root / ".pytest_cache" / f"real-{part.name}.xml"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    cores = ["--numprocesses", str(min(os.cpu_count() or 1, 8))] if part.parallel else []
    began = time.monotonic()
    if part.tools:
        ready = subprocess.run(["bash", "tools/setup", *part.tools], cwd=root, check=False)
        if ready.returncode:
            return Outcome(part, ready.returncode, time.monotonic() - began)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", str(part.folder), f"--junitxml={report}"),
            *("--durations=5", "-o", "faulthandler_timeout=600"),
            *cores,
            *more,
        ],
        cwd=root,
        check=False,
    )
    outcome = Outcome(part, done.returncode, time.monotonic() - began)
    if report.exists():
        _read_report(report, outcome)
    return outcome


def _read_report(report: Path, outcome: Outcome) -> None:
    """Count what passed, and name the capabilities for want of which tests were skipped."""
    from tests.skips import expected  # noqa: PLC0415 - of the checkout that is tested

    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it
        skipped = case.find("skipped")
        if skipped is not None:
            reason = skipped.get("message", "")
            if not expected(reason):
                outcome.missing.append(reason)
        elif case.find("failure") is None and case.find("error") is None:
            outcome.passed += 1


def write_record(
    root: Path, outcomes: Iterable[Outcome], inputs: Mapping[str, Mapping[str, str]]
) -> None:
    """Record the parts that were green with these inputs, and forget those that failed."""
    record = read_record(root)
    for outcome in outcomes:
        record.pop(outcome.part.name, None)
        if outcome.green and outcome.part.declared:
            record[outcome.part.name] = {
                "date": time.strftime("%Y-%m-%d", time.gmtime()),
                "passed": outcome.passed,
                "seconds": round(outcome.seconds),
                "inputs": inputs[outcome.part.name],
            }
    (root / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that are due; return 0, 1 if one failed, 2 for a wrong command line."""
    parser = argparse.ArgumentParser(prog="make test-real", description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", help="run these parts, whether they changed or not")
    parser.add_argument("--all", action="store_true", help="run every part")
    parser.add_argument(
        "--list", action="store_true", help="list the parts that would run, and why"
    )
    parser.add_argument(
        "--record-of", default="", metavar="REF", help="count only records of this commit"
    )
    asked, more = parser.parse_known_args(arguments)
    parts = read_parts(ROOT)
    unknown = set(asked.parts) - {part.name for part in parts}
    if unknown:
        known = ", ".join(part.name for part in parts)
        print(f"no part {', '.join(sorted(unknown))}; there are {known}", file=sys.stderr)
        return 2
    record = read_record(ROOT, asked.record_of)
    inputs = {part.name: digests(all_inputs(part, ROOT), ROOT) for part in parts}
    decisions = [decide(part, inputs[part.name], record) for part in parts]
    if asked.parts:
        chosen = [Decision(part, part.name in asked.parts, "asked for") for part in parts]
        decisions = [each for each in chosen if each.run]
    elif asked.all:
        decisions = [Decision(part, True, "all parts are asked for") for part in parts]
    for each in decisions:
        _say(f"== {each.part.name}: {'to run' if each.run else 'not run'}: {each.why}")
    if asked.list:
        return 0
    outcomes = []
    for each in (each for each in decisions if each.run):
        _say(f"== {each.part.name}: {each.part.shows or 'undeclared'}")
        outcomes.append(run_part(each.part, ROOT, more))
        if not more:  # With further arguments not all of its tests were run.
            write_record(ROOT, outcomes[-1:], inputs)
    _say("== test-real")
    for each in decisions:
        found = next((out for out in outcomes if out.part == each.part), None)
        _say(f"{each.part.name:<14} {_summary(found)}  ({each.why})")
    return int(any(each.code for each in outcomes))


def _summary(outcome: Outcome | None) -> str:
    if outcome is None:
        return "not run"
    if outcome.code:
        return f"FAILED in {outcome.seconds:.0f} s"
    if outcome.missing:
        reasons = "; ".join(sorted(set(outcome.missing)))
        skipped = len(outcome.missing)
        return f"{outcome.passed} passed, {skipped} skipped, so not recorded: {reasons}"
    return f"{outcome.passed} passed in {outcome.seconds:.0f} s"


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
