"""The libraries of the site are those that were published, and their licences are with them."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import pytest

import pipeline.site

FOLDER = Path(pipeline.site.__file__).parent / "vendor"
PACKAGES = ("uplot", "sqljs")


def test_every_library_is_listed() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(PACKAGES)


@pytest.mark.parametrize("name", PACKAGES)
def test_every_file_is_the_pinned_one(name: str) -> None:
    version = tomllib.loads((FOLDER / name / "version.toml").read_text())
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (FOLDER / name).iterdir()
        if path.name != "version.toml"
    }
    assert found == version["sha256"]


def test_the_version_and_the_licence_are_those_of_the_files() -> None:
    versions = {
        name: tomllib.loads((FOLDER / name / "version.toml").read_text()) for name in PACKAGES
    }
    for name, version in versions.items():
        licence = (FOLDER / name / "LICENSE").read_text().lower()
        assert f"{version['license'].lower()} license" in licence
    uplot = versions["uplot"]["version"]
    assert f"uPlot (v{uplot})" in (FOLDER / "uplot/uPlot.iife.min.js").read_text()[:100]
