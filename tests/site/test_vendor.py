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
    assert f"{version['license']} license" in (FOLDER / name / "LICENSE").read_text().replace(
        "License", "license"
    )


def test_the_version_of_the_chart_library_is_that_of_its_file() -> None:
    version = tomllib.loads((FOLDER / "uplot/version.toml").read_text())["version"]
    assert f"uPlot (v{version})" in (FOLDER / "uplot/uPlot.iife.min.js").read_text()[:100]
