"""Whatever lies where a file or folder of ours should be, a verb says so in a line."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable
from pathlib import Path

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


NO_FOLDER: dict[str, Make] = {
    "a file": Path.touch,
    "dangling": dangling,
}
"""What is no folder, where one is expected."""

NO_FILE: dict[str, Make] = {
    **NO_FOLDER,
    "a folder": a_folder,
    "no text": not_text,
    "nested": nested,
}
"""What is no file of ours: the last two are files, of other contents."""

HOSTILE: dict[str, tuple[str, Make]] = {
    "results is a file": ("results", Path.touch),
    "results dangles": ("results", dangling),
    "results is a loop": ("results", loop),
    **{
        f"{name} is {kind}": (f"results/{name}", make)
        for name in ("bundles", "quarantine", "experiments", "logs")
        for kind, make in {**NO_FOLDER, "a folder": a_folder}.items()
    },
    **{
        f"{name} is {kind}": (f"results/{name}", make)
        for name in (
            "detected.json",
            "journal.jsonl",
            "nights.jsonl",
            "store.db",
            "builds.json",
            "discovered.json",
        )
        for kind, make in NO_FILE.items()
    },
}


def says_a_line(ran: Ran) -> None:
    assert ran.code in (0, 2), ran.err
    assert "Traceback" not in ran.err
    if ran.code:
        assert ran.err.splitlines()[-1].startswith("nightshift: "), ran.err


@pytest.fixture(scope="module")
def aside(server_root: Path) -> Path:
    """Where a copy of the measured folder is kept."""
    return server_root / "hostile-folders"


@pytest.fixture
def measured(folder: Path, nightshift: Nightshift, aside: Path) -> Path:
    """A folder in which a night was: made once, and copied."""
    if aside.is_dir():
        shutil.copytree(aside, folder, dirs_exist_ok=True)
        return folder
    (folder / "nightshift.toml").write_text(LONGER + NOT_AGAIN)
    write_runs()
    assert nightshift("ingest").code == 0
    assert nightshift("detect").code == 0
    # SQLite's own files are gone as soon as no connection is left.
    gc.collect()
    assert not list(folder.glob("results/store.db-*"))
    shutil.copytree(folder, aside)
    return folder


@pytest.mark.parametrize("state", HOSTILE)
def test_no_verb_ends_with_a_traceback(
    measured: Path, nightshift: Nightshift, night: list[tuple[str, int]], state: str
) -> None:
    name, make = HOSTILE[state]
    for verb in (*READERS, *WRITERS):
        instead(measured, name, make)
        says_a_line(nightshift(verb))


def test_read_only_results_are_a_line(
    measured: Path, nightshift: Nightshift, night: list[tuple[str, int]]
) -> None:
    with read_only(measured / "results"):
        for verb in (*READERS, *WRITERS):
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
