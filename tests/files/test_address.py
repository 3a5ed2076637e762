"""Addresses that people write: a folder, or anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.files.address import folder_at


def test_a_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder_at(str(tmp_path)) == folder_at("~") == tmp_path


@pytest.mark.parametrize(
    "address", ["https://example.org/db.git", "x" * 10_000, "~nobody-of-this-name/db", "a\0b", ""]
)
def test_what_names_no_folder_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert folder_at(address) in (None, Path())  # An empty address is this folder.
