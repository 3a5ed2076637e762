"""Artifacts lie where download-artifact puts them: one straight in its path, several in folders."""

from __future__ import annotations

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / ".github/actions/artifact-folders"


def folders(path: Path) -> list[str]:
    ran = subprocess.run(["bash", SCRIPT, path], capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


def packed(folder: Path) -> None:
    (folder / "bundles").mkdir(parents=True)
    (folder / "SHA256SUMS").touch()


def test_a_single_artifact_is_the_folder_itself(tmp_path: Path) -> None:
    packed(tmp_path)
    assert folders(tmp_path) == [str(tmp_path)]


def test_several_artifacts_are_the_folders_in_it(tmp_path: Path) -> None:
    for name in ("measured-a-attempt-1", "measured b"):
        packed(tmp_path / name)
    assert folders(tmp_path) == [f"{tmp_path}/measured b", f"{tmp_path}/measured-a-attempt-1"]


def test_without_an_artifact_there_is_none(tmp_path: Path) -> None:
    assert folders(tmp_path) == []
    assert folders(tmp_path / "missing") == []
