"""Verbs that only look begin at once: what they do not need is not imported.

The figures are those of benchmarks/startup.py; here it is asserted why they are small.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.cli.verbs import VERBS
from tests.cli.conftest import CONFIG, NOT_AGAIN, Nightshift

STATISTICS = ("changepoint", "numba", "numpy", "scipy")
NETWORK = ("github", "hcloud", "maven_artifact", "obstore", "requests", "urllib3")
DRIVERS = ("psycopg", "pymysql")
PAGES = ("cramjam", "jinja2", "plotly")
HEAVY = (*STATISTICS, *NETWORK, *DRIVERS, *PAGES, "alembic")
ADAPTERS = ("pipeline.sources", "pipeline.targets", "pipeline.workloads")

FORBIDDEN = {
    "--help": (*HEAVY, *ADAPTERS, "sqlalchemy", "pydantic", "pipeline.config"),
    "lease status": (*HEAVY, *ADAPTERS, "sqlalchemy", "pipeline.config"),
    "nights": (*HEAVY, *ADAPTERS, "sqlalchemy"),
    "regressions": (*HEAVY, *ADAPTERS),
    "plan": HEAVY,
    "table": HEAVY,
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


@pytest.mark.usefixtures("folder")
def test_a_verb_imports_no_verb_that_it_does_not_call() -> None:
    verbs = {verb.module for verb in VERBS.values()}
    assert verbs & imported("ack --help") == {"pipeline.cli.ack"}
    assert verbs & imported("pull-request --help") == {
        "pipeline.cli.compare",
        "pipeline.cli.pull_request",
    }
