"""A/A of counted runs: the same build, counted as if it were several."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline.model import StepCounts
from pipeline.storage.bundle import COUNTS_MEMBER, read_bundle
from tests.conftest import Release
from tests.nights import leftovers, make_night
from tests.repositories import FAST_BUILD

_LOG = logging.getLogger(__name__)


class Subject(NamedTuple):
    """What is counted of a DBMS, and the largest difference between equal builds.

    Without a major the release is SQLite's, compiled here.
    """

    major: str
    config: str
    most: float
    steps: tuple[str, ...] = ("point-query", "hot-points", "scan", "update-index")
    more: str = ""


SUBJECTS = {
    "sqlite": Subject("", "wal", 0.0, more=FAST_BUILD),
    "postgres": Subject("17", "x10a", 0.0005),
    "mariadb": Subject("11.4", "small", 0.0005),
    "mysql": Subject("9", "small", 0.001),
    "rocksdb": Subject(
        "9.10", "byrx", 0.0005, ("readwhilewriting", "overwrite"), 'family = "db_bench"\n'
    ),
}
"""docs/guide/counting.md has the largest differences that were seen."""

COPIES = int(os.environ.get("NIGHTSHIFT_COPIES", "2"))
"""How often each build is counted: more by hand."""


@contextmanager
def busy() -> Iterator[None]:
    """Keep every processor busy meanwhile."""
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in os.sched_getaffinity(0)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.parametrize("target", SUBJECTS)
def test_equal_builds_cost_the_same_on_a_busy_machine(
    tmp_path: Path, cache: Path, releases_of: Callable[[str, str], Release], target: str
) -> None:
    subject = SUBJECTS[target]
    version = releases_of(target, subject.major).revision.version if subject.major else "3.46.0"
    copies = [f"{version}#{number}" for number in range(2, COPIES + 1)]
    night = make_night(
        tmp_path,
        revisions=[version, *copies],
        steps=subject.steps,
        target=target,
        config=subject.config,
        more='mode = "count"\n' + subject.more,
    )
    if target == "sqlite":
        config = night.folder / "nightshift.toml"
        text = config.read_text()
        config.write_text(
            text.replace('target = "sqlite"', 'target = "sqlite"\nbuild = "fast_to_compile"')
        )
    with busy():
        night.run("discover")
        night.run("run")
    by_step: dict[str, list[float]] = {}
    for path in night.folder.glob("results/bundles/*.tar.zst"):
        bundle = read_bundle(path)
        for step in bundle.manifest.steps:
            member = bundle.files[f"{step.folder}/{COUNTS_MEMBER}"]
            counts = StepCounts.model_validate_json(member)
            by_step.setdefault(step.step.name, []).append(counts.instructions)
    assert len(by_step) >= len(subject.steps)
    differences = {step: max(values) / min(values) - 1.0 for step, values in by_step.items()}
    _LOG.info("%s: %s", target, differences)
    assert max(differences.values()) <= subject.most, differences
    assert all(len(values) == COPIES for values in by_step.values())
    assert leftovers(cache) == []
