"""Verbs that only look begin at once: what they do not need is not imported.

The figures are those of benchmarks/startup.py; here it is asserted why they are small.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pipeline.cli
from pipeline.cli.verbs import VERBS
from tests.cli.conftest import CONFIG, NOT_AGAIN, Nightshift

STATISTICS = ("changepoint", "numba", "numpy", "scipy")
NETWORK = ("github", "hcloud", "maven_artifact", "obstore", "requests", "urllib3")
DRIVERS = ("psycopg", "pymysql")
PAGES = ("cramjam", "jinja2")
HEAVY = (*STATISTICS, *NETWORK, *DRIVERS, *PAGES, "alembic", "filelock")
ADAPTERS = ("pipeline.sources", "pipeline.targets", "pipeline.workloads")

FORBIDDEN = {
    "--help": (*HEAVY, *ADAPTERS, "sqlalchemy", "pydantic", "pipeline.config"),
    "lease status": (*HEAVY, *ADAPTERS, "sqlalchemy", "pipeline.config"),
    "nights": (*HEAVY, *ADAPTERS, "sqlalchemy"),
    "regressions": (*HEAVY, *ADAPTERS),
    "plan": HEAVY,
    "table": HEAVY,
    "report": ("changepoint", "numba", "scipy", *DRIVERS),
    "site": ("changepoint", "numba", "scipy", *DRIVERS),
}
"""What is not imported, by command line."""

SCRIPT = """
import sys
from pipeline.cli import main

try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print("imported:", *sys.modules, file=sys.stderr)
"""


def imported(command: str) -> set[str]:
    """Run a command line in a process of its own; return the modules that it imported."""
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, *command.split()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.rpartition("imported: ")[2].split())


@pytest.fixture
def measured(folder: Path, nightshift: Nightshift, night: list[tuple[str, int]]) -> None:
    """A results folder with a night in it."""
    (folder / "nightshift.toml").write_text(CONFIG + NOT_AGAIN)
    assert nightshift("nightly").code == 0
    assert night


@pytest.mark.usefixtures("measured")
def test_what_a_verb_does_not_need_is_not_imported() -> None:
    for command, forbidden in FORBIDDEN.items():
        found = imported(command)
        assert "pipeline.cli" in found, command
        assert sorted(found & set(forbidden)) == [], command


@pytest.mark.usefixtures("folder")
def test_the_help_of_the_program_imports_no_verb() -> None:
    assert not {verb.module for verb in VERBS.values()} & imported("--help")


def test_no_verb_imports_another_verb() -> None:
    """What two verbs do is a use case, and what two verbs print is a module without a verb."""
    verbs = {verb.module for verb in VERBS.values()}
    folder = Path(pipeline.cli.__file__).parent
    for verb in sorted(verbs):
        tree = ast.parse((folder / f"{verb.rpartition('.')[2]}.py").read_text())
        named = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not named & (verbs - {verb}), verb
