"""Whatever lies where a file or folder of ours should be, a verb says so in a line."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.conftest import LONGER, NOT_AGAIN, Nightshift, Ran
from tests.cli.measured import write_runs
from tests.mounts import read_only

READERS = ("table", "plan", "regressions", "nights", "ledger", "report", "site", "environment")
WRITERS = ("ingest", "detect", "nightly", "rebuild", "notify", "pursue")


Make = Callable[[Path], object]


def instead(folder: Path, name: str, make: Make) -> None:
    path = folder / name
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)


def dangling(path: Path) -> None:
    path.symlink_to("nowhere/at all")


def loop(path: Path) -> None:
    path.symlink_to(path)


def not_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\n")


def nested(path: Path) -> None:
    path.write_text("[" * 100_000)


def a_folder(path: Path) -> None:
    path.mkdir()
    (path / "x").touch()


KINDS: dict[str, Make] = {
    "a folder": a_folder,
    "a file": Path.touch,
    "dangling": dangling,
    "no text": not_text,
    "nested": nested,
}

VERBS = (*READERS, *WRITERS)
NAMES = (
    "bundles",
    "detected.json",
    "journal.jsonl",
    "nights.jsonl",
    "store.db",
    "builds.json",
    "discovered.json",
    "quarantine",
    "experiments",
    "logs",
)
SHARE = -(-len(VERBS) // len(KINDS))
"""Verbs that meet one kind of one name: over its kinds, every verb meets every name."""


class State(NamedTuple):
    """What lies at a name, and the verbs that meet it."""

    name: str
    make: Make
    verbs: Sequence[str] = VERBS


HOSTILE: dict[str, State] = {
    "results is a file": State("results", Path.touch),
    "results dangles": State("results", dangling),
    "results is a loop": State("results", loop),
    **{
        f"{name} is {kind}": State(
            f"results/{name}",
            make,
            # Begun elsewhere for each name, so that every verb meets every kind, too.
            [VERBS[(SHARE * (i + j) + n) % len(VERBS)] for n in range(SHARE)],
        )
        for i, name in enumerate(NAMES)
        for j, (kind, make) in enumerate(KINDS.items())
    },
}


def says_a_line(ran: Ran) -> None:
    assert ran.code in (0, 2), ran.err
    assert "Traceback" not in ran.err
    if ran.code:
        assert ran.err.splitlines()[-1].startswith("nightshift: "), ran.err


@pytest.fixture
def measured(folder: Path, nightshift: Nightshift) -> Path:
    """A folder in which a night was."""
    (folder / "nightshift.toml").write_text(LONGER + NOT_AGAIN)
    write_runs()
    assert nightshift("ingest").code == 0
    assert nightshift("detect").code == 0
    return folder


@pytest.mark.parametrize("state", HOSTILE)
def test_no_verb_ends_with_a_traceback(
    measured: Path, nightshift: Nightshift, night: list[tuple[str, int]], state: str
) -> None:
    name, make, verbs = HOSTILE[state]
    for verb in verbs:
        instead(measured, name, make)
        says_a_line(nightshift(verb))


def test_every_verb_meets_every_name_and_every_kind() -> None:
    for part in (*NAMES, *KINDS):
        met = {verb for text, state in HOSTILE.items() if part in text for verb in state.verbs}
        assert met == set(VERBS), part


def test_read_only_results_are_a_line(
    measured: Path, nightshift: Nightshift, night: list[tuple[str, int]]
) -> None:
    with read_only(measured / "results"):
        for verb in VERBS:
            says_a_line(nightshift(verb))


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 5_000 + "]" * 5_000,
        "x = " + "{a=" * 5_000 + "1" + "}" * 5_000,
        "[" + ".".join("a" * 5_000) + "]\nx = 1",
        ".".join("a" * 5_000) + " = 1",
        "[paths." + ".".join("a" * 5_000) + "]\nx = 1",
        "[[line." + ".".join("a" * 5_000) + "]]\nx = 1",
    ],
)
def test_nested_tables_are_a_line(folder: Path, nightshift: Nightshift, text: str) -> None:
    (folder / "nightshift.toml").write_text(text)
    ran = nightshift("plan")
    says_a_line(ran)
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert len(ran.err) < 1_000
