"""The help of every verb describes it, with an example that can be typed."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.core import TyperGroup

import pipeline.cli
from pipeline.cli.app import app
from pipeline.cli.verbs import VERBS, Verb
from tests.cli.conftest import Nightshift

WITHOUT_RESULTS = {("schema",), ("article",), ("hub", "up"), ("lease", "take")}
"""Verbs that print a file rather than results, what goes on, or what another command prints."""


def commands(group: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Return every command below a group, by the words that call it."""
    found: dict[tuple[str, ...], Any] = {}
    with group.make_context("nightshift", [], resilient_parsing=True) as context:
        for name in group.list_commands(context):
            here = (*path, name)
            command = group.get_command(context, name)
            found |= commands(command, here) if isinstance(command, TyperGroup) else {here: command}
    return found


COMMANDS = commands(typer.main.get_command(app))


def test_every_verb_has_a_command() -> None:
    assert list(dict.fromkeys(path[0] for path in COMMANDS)) == list(VERBS)


def test_every_registered_verb_is_in_the_table() -> None:
    """The commands above imported every module; one that the table lacks could not be called."""
    for module in Path(pipeline.cli.__file__).parent.glob("*.py"):
        import_module(f"pipeline.cli.{module.stem}")
    registered = {each.name for each in app.registered_commands}
    assert registered | {each.name for each in app.registered_groups} == set(VERBS)


@pytest.mark.parametrize("verb", VERBS.values(), ids=list(VERBS))
def test_a_verb_begins_its_help_with_its_line_of_the_table(
    nightshift: Nightshift, verb: Verb
) -> None:
    """The line of the table fits a terminal of 80 columns, too."""
    assert nightshift(verb.name, "--help").out.split("\n")[2] == f"  {verb.help}"
    assert f"\n  {verb.name:<14}{verb.help}\n" in nightshift("--help").out
    assert len(verb.help) <= 64


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


def test_the_verbs_are_grouped_and_come_in_the_order_of_a_night(nightshift: Nightshift) -> None:
    ran = nightshift("--help")
    groups = re.split(r"(?m)^(\w+):\n", ran.out)
    verbs = dict(zip(groups[1::2], groups[2::2], strict=True))
    assert list(verbs) == [
        "Options",
        "Measure",
        "Look",
        "Decide",
        "Compare",
        "Publish",
        "Machines",
        "Maintain",
    ]
    assert re.findall(r"(?m)^  (\w+)", verbs["Measure"]) == [
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
        "reproduce",
        "remeasure",
        "backfill",
    ]


def test_without_a_verb_the_help_is_shown(nightshift: Nightshift) -> None:
    assert nightshift() == nightshift("--help")
    assert nightshift("import") == nightshift("import", "--help")


def test_brackets_in_the_help_are_not_taken_for_markup(nightshift: Nightshift) -> None:
    assert "Use the settings of [quick]" in nightshift("nightly", "--help").out
