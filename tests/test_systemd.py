"""The units for a machine without a runner: systemd takes them, and their commands are ours."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from pipeline.cli.app import app

ROOT = Path(__file__).parents[1]
UNITS = ROOT / "tools/systemd"
HOME = "/opt/nightshift"
"""Where the units expect the checkout."""

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


def installed(folder: Path, service: str) -> tuple[int, str]:
    """Let systemd verify the units as if they were installed; return exit code and complaints."""
    home = folder / "home"
    program = home / ".venv/bin/nightshift"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    texts = {"service": service, "timer": (UNITS / "nightshift-nightly.timer").read_text()}
    for kind, text in texts.items():
        (folder / f"nightshift-nightly.{kind}").write_text(text.replace(HOME, str(home)))
    done = subprocess.run(
        ["systemd-analyze", "verify", *(str(folder / f"nightshift-nightly.{k}") for k in texts)],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if "nightshift" in line]
    return done.returncode, "\n".join(ours)


SERVICE = (UNITS / "nightshift-nightly.service").read_text()


@needs_systemd
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    assert installed(tmp_path, SERVICE) == (0, "")


@needs_systemd
@pytest.mark.parametrize(
    ("right", "wrong"),
    [("ProtectHome=", "ProtectHomes="), ("Type=exec", "Type=often"), ("bin/nightshift l", "bin/l")],
)
def test_systemd_reports_a_mistake(tmp_path: Path, right: str, wrong: str) -> None:
    assert right in SERVICE
    code, reported = installed(tmp_path, SERVICE.replace(right, wrong))
    assert code or reported


def test_the_commands_can_be_typed() -> None:
    commands = re.findall(r"(?m)^Exec\w+=(.+)$", SERVICE)
    assert len(commands) == 2
    root = typer.main.get_command(app)
    for command in commands:
        outer, _, inner = command.partition(" -- ")
        for line in filter(None, (outer, inner)):
            program, *words = shlex.split(line)
            assert program == f"{HOME}/.venv/bin/nightshift"
            more = ["--", "true"] if line == outer and inner else []
            _parse(root, [*words, *more])


def _parse(command: object, words: list[str]) -> None:
    """Parse options and arguments, and run nothing."""
    if isinstance(command, TyperGroup):
        with command.make_context("nightshift", [], resilient_parsing=True) as context:
            inner = command.get_command(context, words[0])
        _parse(inner, words[1:])
    else:
        command.make_context("nightshift", words).close()  # type: ignore[attr-defined]


def test_the_documentation_is_where_they_say() -> None:
    for unit in UNITS.iterdir():
        (page,) = re.findall(rf"Documentation=file://{HOME}/(\S+)", unit.read_text())
        assert (ROOT / page).is_file()
