"""Compare detection with changes that a person has seen in real series.

The labels are in labels.json. The values are not, because they are not ours to publish: they are
read from clones of the public repositories, at the commits, that labels.json names.

A person looked at a plot of each series, before any engine searched it, and noted two kinds of
places: changes of level, and places that may be one (a ramp, a few outliers, a wandering level).
An engine must find the former; a change at one of the latter is neither right nor wrong. Changes of
spread, which only ours report, do not count.
"""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from changepoint.evaluate.field.engines import (
    ENTRIES,
    NotInstalledError,
    other,
    ours,
    process,
)
from changepoint.series import Floats

SHORT = 30
"""Maximum number of values of a series that counts as short in the table."""

MARGINS = ((60, 5), (20, 2), (0, 1))
"""Pairs of a length and a distance: in series of at least so many values, a change counts as found
within this distance from a label."""

Span = tuple[int, int]
"""First and last index of a place that may be a change."""


class MissingRepositoryError(Exception):
    """The repository with the labelled series is missing."""


@dataclass(frozen=True, slots=True)
class LabelledSeries:
    """A real series, and the changes that a person saw in it.

    group: name of a set of labels that were made at the same time. name: the repository and the
    series' name in it. changes: index of the first value after each labelled change. perhaps:
    places that may be a change.
    """

    group: str
    name: str
    values: Floats
    changes: tuple[int, ...]
    perhaps: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """How many labelled changes were found and missed, and how many others were found."""

    found: int = 0
    missed: int = 0
    wrong: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(self.found + other.found, self.missed + other.missed, self.wrong + other.wrong)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2.0 * self.found / max(2 * self.found + self.missed + self.wrong, 1)

    def __str__(self) -> str:
        return f"{self.found} / {self.missed} / {self.wrong} | {self.f1:.3f}"


def margin_of(positions: int) -> int:
    """Return the distance within which a change counts as found in a series of this length."""
    return next(margin for least, margin in MARGINS if positions >= least)


def score(found: Sequence[int], series: LabelledSeries) -> Score:
    """Compare found changes with those that a person labelled."""
    margin = margin_of(len(series.values))
    rest = sorted(found)
    hits = 0
    for label in series.changes:
        near = [at for at in rest if abs(at - label) <= margin]
        if near:
            rest.remove(min(near, key=lambda at: abs(at - label)))
            hits += 1
    wrong = sum(
        not any(first - margin <= at <= last + margin for first, last in series.perhaps)
        for at in rest
    )
    return Score(hits, len(series.changes) - hits, wrong)


def collection(repositories: Path) -> Iterator[LabelledSeries]:
    """Return all labelled series.

    repositories: a folder with a clone OWNER/NAME of each repository. Raises
    MissingRepositoryError, also if the values are not those that were labelled.
    """
    cache: dict[tuple[str, str, int], Mapping[str, Floats]] = {}
    for label in json.loads(Path(__file__).with_name("labels.json").read_text()):
        key = (label["repository"], label["file"], label["every"])
        if key not in cache:
            clone = repositories / label["repository"]
            cache[key] = _read(clone, label["commit"], label["file"], label["every"])
        name = f"{label['repository']} {label['name']}"
        values = cache[key].get(label["name"], np.empty(0))
        if digest(values) != label["digest"]:
            raise MissingRepositoryError(
                f"{name} has other values than those that were labelled; fetch commit "
                f"{label['commit']} of {label['repository']}"
            )
        spans = tuple((first, last) for first, last in label["perhaps"])
        yield LabelledSeries(label["group"], name, values, tuple(label["changes"]), spans)


def digest(values: Floats) -> str:
    """Return a short checksum that identifies the values of a series."""
    text = ",".join(map(repr, values.tolist()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def labelled_table(repositories: Path, names: Sequence[str]) -> Iterator[str]:
    """Yield a table: how many labelled changes were found, by program and group."""
    series = list(collection(repositories))
    yield f"| labels | engine | all | F1 | up to {SHORT} values | F1 | longer | F1 |"
    yield "| --- |" + " --- |" * 7
    for group in dict.fromkeys(each.group for each in series):
        for name in names:
            try:
                found = _found(name, [each for each in series if each.group == group])
            except NotInstalledError as error:
                yield f"| {group} | {name} | {error} |"
                continue
            short = sum((s for n, s in found if n <= SHORT), Score())
            longer = sum((s for n, s in found if n > SHORT), Score())
            yield f"| {group} | {name} | {short + longer} | {short} | {longer} |"


def _found(name: str, series: Sequence[LabelledSeries]) -> list[tuple[int, Score]]:
    """Return the length and the score of each series."""
    entry = ENTRIES[name]
    with ExitStack() as stack:
        if entry.method:
            engine = ours(entry.method, kinds=("level",))
        else:
            engine = other(entry, stack.enter_context(process(entry.environment)))
        return [(len(each.values), score(engine(each.values).indices, each)) for each in series]


def _read(clone: Path, commit: str, file: str, every: int) -> Mapping[str, Floats]:
    """Read the series of a file by name, without missing values.

    every: 0 to read only the file at the commit. With a number n, every n-th older version of the
    file is read, too, because a published file keeps only the newest entries.
    """
    if file.endswith(".csv"):
        rows = (line.split(",") for line in _show(clone, commit, file).splitlines())
        named = [(row[0], row[1:]) for row in rows if all(map(_is_number, row[1:]))]
    elif file.endswith(".js"):
        named = _benchmark_action(clone, commit, file, every)
    else:
        entries = sorted(json.loads(_show(clone, commit, file)), key=lambda e: e["timestamp"])
        named = _by_name((m["name"], m["value"]) for e in entries for m in e["metrics"])
    # Like a reader of the files, the last row of a name replaces those before it.
    known = {name: np.array(values, dtype=np.float64) for name, values in named}
    return {name: values[~np.isnan(values)] for name, values in known.items()}


def _benchmark_action(
    clone: Path, commit: str, file: str, every: int
) -> list[tuple[str, list[Any]]]:
    """Read the series of github-action-benchmark's data.js by name."""
    versions = [commit]
    if every:
        log = _git(clone, "log", "--format=%H", commit, "--", file)
        versions = log.split()[::every]
    entries: dict[tuple[str, int, str, int], Any] = {}
    for version in versions:
        text = _show(clone, version, file)
        for suite, found in json.loads(text[text.index("{") :].rstrip().rstrip(";"))[
            "entries"
        ].items():
            for number, entry in enumerate(found):
                # A version holds an entry once, unless it is the only one.
                key = (suite, entry["date"], entry["commit"]["id"], 0 if every else number)
                entries.setdefault(key, entry["benches"])
    ordered = sorted(entries.items(), key=lambda item: item[0][1])
    return _by_name(
        (f"{key[0]}:{bench['name']}", bench["value"])
        for key, benches in ordered
        for bench in benches
    )


def _by_name(pairs: Iterator[tuple[str, Any]]) -> list[tuple[str, list[Any]]]:
    series: dict[str, list[Any]] = {}
    for name, value in pairs:
        # Zero is the value of a benchmark that did not run.
        series.setdefault(name, []).append(value or math.nan)
    return list(series.items())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _show(clone: Path, commit: str, file: str) -> str:
    return _git(clone, "show", f"{commit}:{file}")


def _git(clone: Path, *command: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(clone), *command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise MissingRepositoryError(
            f"git {command[0]} in {clone} failed: {done.stderr.strip()}; clone the repository there"
        )
    return done.stdout
