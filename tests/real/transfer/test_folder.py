"""A folder that travels is taken whole, as it was sent, or not at all."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.files.checksum import sha256
from pipeline.text.errors import UserError
from pipeline.transfer.folder import SUMS, received, send

WITHIN = ("bundles", "journal.jsonl")


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    source.write_text("what was measured")
    folder = tmp_path / "sent"
    send(folder, {"bundles/pg-17.11#2-r1.tar.zst": source, "journal.jsonl": source})
    return folder


def test_what_was_sent_is_received(sent: Path) -> None:
    found = received(sent, WITHIN)
    assert set(found) == {"bundles/pg-17.11#2-r1.tar.zst", "journal.jsonl"}
    assert set(found.values()) == {sha256(sent / "journal.jsonl")}


def test_the_sums_are_what_the_usual_tool_reads(sent: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", SUMS], cwd=sent, check=True)


def test_sending_again_writes_over(sent: Path, tmp_path: Path) -> None:
    (tmp_path / "source").write_text("more")
    send(sent, {"journal.jsonl": tmp_path / "source"})
    with pytest.raises(UserError, match="not listed in SHA256SUMS"):
        received(sent, WITHIN)


def renamed(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        sums = folder / SUMS
        sums.write_text(sums.read_text().replace("journal.jsonl", name))

    return change


def altered(folder: Path) -> None:
    (folder / "journal.jsonl").write_text("other")


def linked(folder: Path) -> None:
    place = folder / "journal.jsonl"
    place.rename(folder.parent / "outside")
    place.symlink_to(folder.parent / "outside")


def more(folder: Path) -> None:
    (folder / ".hidden").write_text("x")


def listed_twice(folder: Path) -> None:
    sums = folder / SUMS
    sums.write_text(sums.read_text() * 2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (altered, "missing or altered"),
        (linked, "missing or altered"),
        (more, "not listed in SHA256SUMS"),
        (listed_twice, "has an invalid line"),
        (lambda folder: (folder / "journal.jsonl").unlink(), "missing or altered"),
        (lambda folder: (folder / SUMS).unlink(), "nightshift pack"),
        (lambda folder: (folder / SUMS).write_bytes(b"\xff"), "nightshift pack"),
        (lambda folder: (folder / SUMS).write_text("nonsense"), "has an invalid line"),
        (renamed("../journal.jsonl"), "has an invalid line"),
        (renamed("/etc/passwd"), "has an invalid line"),
        (renamed("bundles/../../x"), "has an invalid line"),
        (renamed("bundles/.x"), "has an invalid line"),
        (renamed("."), "has an invalid line"),
        (renamed("bundles"), "has an invalid line"),
        (renamed("journal.jsonl/x"), "has an invalid line"),
        (renamed("bundles/pg-17.11#2-r1.tar.zst/x.y"), "has an invalid line"),
        (renamed("./."), "has an invalid line"),
        (renamed("store.db"), "is not a file that nightshift collects"),
    ],
)
def test_anything_else_is_refused(sent: Path, change: Callable[[Path], None], said: str) -> None:
    change(sent)
    with pytest.raises(UserError, match=said):
        received(sent, WITHIN)
