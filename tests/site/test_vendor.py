"""The chart library is the one that was published, and its licence is with it."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import pipeline.site

FOLDER = Path(pipeline.site.__file__).parent / "vendor" / "uplot"
VERSION = tomllib.loads((FOLDER / "version.toml").read_text())


def test_every_file_is_the_pinned_one() -> None:
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in FOLDER.iterdir()
        if path.name != "version.toml"
    }
    assert found == VERSION["sha256"]


def test_the_version_and_the_licence_are_those_of_the_files() -> None:
    assert f"uPlot (v{VERSION['version']})" in (FOLDER / "uPlot.iife.min.js").read_text()[:100]
    assert f"The {VERSION['license']} License" in (FOLDER / "LICENSE").read_text()
