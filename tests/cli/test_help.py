"""Every verb tells what it does, with an example that can be typed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from typing import Any

import pytest
import typer.main

from pipeline.cli import VERBS, load
from tests.cli.conftest import Nightshift

WITHOUT_RESULTS = {("schema",), ("hub", "up"), ("lease", "take")}
"""Verbs that print a file rather than results, what goes on, or what another command prints."""


def commands(group: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Return every command below a group, by the words that call it."""
    found: dict[tuple[str, ...], Any] = {}
    for name, command in group.commands.items():
        here = (*path, name)
        found |= commands(command, here) if hasattr(command, "commands") else {here: command}
    return found


ROOT = typer.main.get_command(load())
COMMANDS = commands(ROOT)


def test_the_verbs_are_those_that_are_named() -> None:
    assert {path[0] for path in COMMANDS} == set(VERBS)


@pytest.mark.parametrize(("verb", "others"), [("ack", ""), ("pull-request", "compare")])
def test_a_verb_comes_with_what_it_needs_alone(verb: str, others: str) -> None:
    """Importing all of them takes seconds, and half of that is what talks to GitHub and Hetzner."""
    script = (
        "import sys, typer.main\n"
        "from pipeline.cli import load\n"
        "print(*sorted(typer.main.get_command(load(sys.argv[1:])).commands))\n"
        "print('hcloud' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, verb], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == [*sorted([verb, *others.split()]), "False"]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_the_help_has_an_example(nightshift: Nightshift, path: tuple[str, ...], flag: str) -> None:
    ran = nightshift(*path, flag)
    assert ran.code == 0
    assert ran.out.startswith(f"Usage: nightshift {' '.join(path)} ")
    assert re.search(rf"(?m)^  Example: nightshift {' '.join(path)}\b", ran.out)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_examples_can_be_typed(path: tuple[str, ...]) -> None:
    examples = re.findall(r"(?m)^\s*Example: nightshift (.+)$", COMMANDS[path].help)
    assert examples
    for example in examples:
        words = shlex.split(example.partition(">")[0])
        assert tuple(words[: len(path)]) == path
        # Parses options and arguments, and runs nothing.
        COMMANDS[path].make_context("nightshift", words[len(path) :]).close()


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_results_are_printed_as_text_or_json(nightshift: Nightshift, path: tuple[str, ...]) -> None:
    shown = " ".join(nightshift(*path, "--help").out.split())
    option = re.search(r"--format <([a-z|-]+)>[^<]*\[default: (\w+)\]", shown)
    if path in WITHOUT_RESULTS:
        assert option is None
        return
    assert option is not None
    assert {"text", "json"} <= set(option[1].split("|"))
    assert option[2] == "text"


def test_the_verbs_come_in_the_order_of_a_night(nightshift: Nightshift) -> None:
    ran = nightshift("--help")
    verbs = re.findall(r"(?m)^  (\w+) {2,}\S", ran.out.partition("Commands:")[2])
    assert verbs[:15] == [
        "nightly",
        "discover",
        "plan",
        "build",
        "run",
        "ingest",
        "detect",
        "confirm",
        "bisect",
        "pursue",
        "explain",
        "report",
        "site",
        "notify",
        "publish",
    ]
    assert "..." not in ran.out.partition("Commands:")[2], "a sentence was cut short"


def test_without_a_verb_the_help_is_shown(nightshift: Nightshift) -> None:
    assert nightshift() == nightshift("--help")
    assert nightshift("import") == nightshift("import", "--help")


def test_brackets_in_the_help_are_not_taken_for_markup(nightshift: Nightshift) -> None:
    assert "Use the [quick] settings" in nightshift("nightly", "--help").out
