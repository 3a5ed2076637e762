"""Changes in the source of SQLite and Postgres, compiled at -O2, found or ignored by counting.

The functions are drawn from those that the step executes. What a turn of a loop costs in each is
counted first, as compilers and callers decide it.
"""

from __future__ import annotations

import logging
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from changepoint import is_exact_change
from pipeline.config import DetectSection
from pipeline.explain.function_costs import function_cost_changes
from pipeline.measure.discover import Offer, revisions_of
from pipeline.model import StepCounts
from pipeline.model.counts import FLOOR
from pipeline.sources import source_for
from pipeline.storage.bundle import COUNTS_MEMBER, read_bundle
from pipeline.targets import find_target
from pipeline.targets.base.archives import source_members, unpacked
from tests.nights import give_own_cache, leftovers, make_night
from tests.repositories import commit, git

_LOG = logging.getLogger(__name__)

SIZES = (0.002, 0.01)
"""Planted instructions, as shares of those of a query."""
FUNCTIONS = 10
"""Functions that get each of them."""
CANDIDATES = 150
"""Functions with the largest own cost, among which they are drawn."""


@dataclass
class Code:
    """The source of a release in a git repository of its own."""

    target: str
    repository: Path
    files: dict[Path, str]

    def definition(self, function: str) -> tuple[Path, int] | None:
        """Return the file and offset where the body of a function starts, if it has one only."""
        found = [
            (path, match.end())
            for path, text in self.files.items()
            if function in text
            for match in re.finditer(rf"^[^#\n]*\b{function}\([^;{{}}]*\)\s*\{{", text, re.M)
        ]
        return found[0] if len(found) == 1 else None

    def change(self, edits: Iterable[tuple[Path, int, str]], message: str) -> str:
        """Commit the release with texts inserted, and return the label of the commit."""
        for path, text in self.files.items():
            if path.read_text() != text:
                path.write_text(text)
        by_path: dict[Path, list[tuple[int, str]]] = {}
        for path, offset, text in edits:
            by_path.setdefault(path, []).append((offset, text))
        for path, insertions in by_path.items():
            text = self.files[path]
            for offset, more in sorted(insertions, reverse=True):
                text = text[:offset] + more + text[offset:]
            path.write_text(text)
        return self.commit(message)

    def replace(self, path: Path, text: str, message: str) -> str:
        """Commit the release with another text of one file, and return the label of the commit."""
        path.write_text(text)
        return self.commit(message)

    def commit(self, message: str) -> str:
        commit(self.repository, message)
        return git(self.repository, "log", "-1", "--format=%H")[:12]


SUPPLIES = {"sqlite": ("crate", "3.51", "*.c"), "postgres": ("debian-source", "15", "src/**/*.c")}


CONFIGURED = {"sqlite": "", "postgres": 'major = "15"'}
"""What a line needs for the configuration of its commits."""


def release_as_commit(target: str, folder: Path, cache: Path) -> Code:
    """Make a repository with the source of a release."""
    name, major, pattern = SUPPLIES[target]
    supply = next(each for each in find_target(target).supplies if each.name == name)
    source = source_for(supply, cache)
    releases = [
        each
        for each in revisions_of(Offer(target, supply), source.versions())
        if each.version.startswith(major + ".")
    ]
    if not releases:
        pytest.skip(f"no source of {target} {major} can be had")
    newest = releases[-1]
    fetched = source.fetch(newest.locator, cache / "downloads")
    tree = folder / "tree"
    with unpacked(fetched.path, tree, source_members):
        pass
    if target == "sqlite":
        tree = tree / "sqlite3"
    repository = folder / "repository"
    shutil.move(tree, repository)
    git(repository, "init", "-q")
    files = {path: path.read_text(errors="surrogateescape") for path in repository.glob(pattern)}
    code = Code(target, repository, files)
    code.commit(f"version {newest.version}")
    return code


@pytest.fixture
def count(
    server_folder: Path, tmp_path: Path, cache: Path
) -> Callable[[Code, int], dict[str, StepCounts]]:
    """Return a function that counts point queries of the newest commits of a repository."""

    def counted(code: Code, commits: int) -> dict[str, StepCounts]:
        folder = tmp_path / f"night{commits}"
        night = make_night(
            folder,
            revisions=[],
            steps=["point-query"],
            target=code.target,
            config={"sqlite": "wal", "postgres": "x10a"}[code.target],
            more='mode = "count"\n',
        )
        config = night.folder / "nightshift.toml"
        config.write_text(
            config.read_text().replace(
                "revisions = []",
                f'source = "git"\nrepository = "{code.repository}"\nnewest = {commits}\n'
                f'build = "rel_o2nofp"\n{CONFIGURED[code.target]}',
            )
        )
        home = server_folder / f"cache{commits}"
        give_own_cache(night, home, cache)
        night.run("discover")
        night.run("run")
        found = {}
        for path in night.folder.glob("results/bundles/*.tar.zst"):
            bundle = read_bundle(path)
            (step,) = bundle.manifest.steps
            label = bundle.manifest.revision.label
            member = bundle.files[f"{step.folder}/{COUNTS_MEMBER}"]
            found[label] = StepCounts.model_validate_json(member)
        assert leftovers(home) == []
        return found

    return counted


def loop(turns: int) -> str:
    """Return the C of a loop that no compiler removes."""
    return f"\n{{ volatile int turn; for (turn = 0; turn < {turns}; turn++) {{}} }}\n"


@pytest.mark.parametrize("target", SUPPLIES)
def test_planted_instructions_are_found_in_the_function_that_has_them(
    tmp_path: Path, cache: Path, count: Callable[[Code, int], dict[str, StepCounts]], target: str
) -> None:
    code = release_as_commit(target, tmp_path, cache)
    base_label = git(code.repository, "log", "-1", "--format=%H")[:12]
    (base,) = count(code, 1).values()
    named = [each.function for each in base.functions if re.fullmatch(r"\w+", each.function)]
    places = {name: place for name in named if (place := code.definition(name)) is not None}
    candidates = list(places)[:CANDIDATES]
    # What ten and twenty turns cost in each function, all at once.
    pilots = [
        code.change([(*places[name], loop(turns)) for name in candidates], f"{turns} turns")
        for turns in (10, 20)
    ]
    counts = count(code, 3)
    ten, twenty = ({each.function: each for each in counts[label].functions} for label in pilots)
    turn = {
        name: (twenty[name].self_cost - ten[name].self_cost) / 10
        for name in candidates
        if name in ten and name in twenty
    }
    usable = [name for name, cost in turn.items() if 0 < cost <= min(SIZES) * base.instructions]
    assert len(usable) >= FUNCTIONS, (base.instructions, turn)
    chosen = random.Random(20261125).sample(usable, FUNCTIONS)
    planted: dict[str, tuple[str, float]] = {}
    for name in chosen:
        for size in SIZES:
            turns = round(size * base.instructions / turn[name])
            edit = [(*places[name], loop(turns))]
            planted[code.change(edit, f"{name} {turns}")] = (name, size)
    # The base is the first of the commits, so all are built by one night.
    counts = count(code, len(planted) + 3)
    base = counts[base_label]
    missed, misnamed = [], []
    for label, (name, size) in planted.items():
        head = counts[label]
        effect = head.instructions / base.instructions - 1.0
        if not is_exact_change(effect, floor=FLOOR, min_effect=size / 2) or effect < 0:
            missed.append((name, size, effect))
        first = function_cost_changes(base, head)[:1]
        _LOG.info("%s %s %+.1f %%: %+.3f %%", target, name, 100 * size, 100 * effect)
        if [each.function for each in first] != [name]:
            misnamed.append((name, size, first))
    assert (missed, misnamed) == ([], [])


RENAMED, SPLIT, INLINED = 7, 7, 6
"""Refactorings of each kind, 20 in all."""

MOST_CALLS = 6
"""Places from which a function that is split or inlined is called at most."""

PLANTED = "sqlite3_step"
STEP = f"SQLITE_API int {PLANTED}(sqlite3_stmt *pStmt){{"
"""The function with a real change beside the refactorings, and how it begins."""


def test_refactorings_at_equal_cost_are_no_changes(
    tmp_path: Path, cache: Path, count: Callable[[Code, int], dict[str, StepCounts]]
) -> None:
    """Functions of SQLite renamed, kept apart from their callers, and compiled into them.

    All are executed by the step. No refactoring is reported, and beside a real change of 1 % none
    is named before the function that has it.
    """
    code = release_as_commit("sqlite", tmp_path, cache)
    path = next(path for path in code.files if path.name == "sqlite3.c")
    text = code.files[path]
    base_label = git(code.repository, "log", "-1", "--format=%H")[:12]
    free = static_functions(text)
    apart = code.replace(path, marked(text, free, NOINLINE), "every static function by itself")
    pilot = count(code, 2)
    executed, by_themselves = (
        {each.function for each in pilot[label].functions if each.self_cost > 0}
        for label in (base_label, apart)
    )
    draw = random.Random(20261126)
    named = sorted(name for name in executed if name in text and code.definition(name))
    renamed = draw.sample([name for name in named if name != PLANTED], RENAMED)
    split = draw.sample([name for name in free if name in by_themselves - executed], SPLIT)
    inlined = draw.sample([name for name in free if name in executed - {*renamed}], INLINED)
    assert text.count(STEP) == 1
    planted = code.replace(path, text.replace(STEP, STEP + loop(7)), f"a loop in {PLANTED}")
    refactored = {}
    for name in renamed:
        new = re.sub(rf"\b{name}\b", f"{name}_by_another_name", text)
        refactored[code.replace(path, new, f"rename {name}")] = f"rename {name}"
    for kind, names, attribute in (("split", split, NOINLINE), ("inline", inlined, INLINE)):
        for name in names:
            new = marked(text, [name], attribute)
            refactored[code.replace(path, new, f"{kind} {name}")] = f"{kind} {name}"
    assert len(refactored) == RENAMED + SPLIT + INLINED
    counts = count(code, len(refactored) + 3)
    reported, misnamed = {}, {}
    for label, name in refactored.items():
        effect = counts[label].instructions / counts[base_label].instructions - 1.0
        first = function_cost_changes(counts[label], counts[planted])[:1]
        _LOG.info("%s: %+.3f %%, beside a loop: %s", name, 100 * effect, first)
        if is_exact_change(effect, floor=FLOOR, min_effect=DetectSection().min_effect_counted):
            reported[name] = effect
        if [each.function for each in first] != [PLANTED]:
            misnamed[name] = first
    assert (reported, misnamed) == ({}, {})


NOINLINE = "__attribute__((noinline))"
INLINE = "inline __attribute__((always_inline))"


def static_functions(text: str) -> list[str]:
    """Return the static functions that a compiler can inline in all of their few calls."""
    words = Counter(re.findall(r"\w+", text))
    calls = Counter(re.findall(r"(\w+)\(", text))
    found: dict[str, int] = {}
    for match in re.finditer(
        r"^static (?!SQLITE_(?:NO)?INLINE)[\w* ]*?\b(\w+)\(([^;{}]*)\)\{", text, re.M
    ):
        name, parameters = match.groups()
        body = text[match.end() : text.index("\n}", match.end())]
        # One of the places is the definition; used as a value it cannot be inlined.
        only_called = words[name] == calls[name] and 1 <= calls[name] - 1 <= MOST_CALLS
        if only_called and "..." not in parameters and not re.search(rf"\b{name}\b", body):
            found[name] = found.get(name, 0) + 1
    return [name for name, definitions in found.items() if definitions == 1]


def marked(text: str, names: Sequence[str], attribute: str) -> str:
    """Return the source with an attribute at the definitions of static functions."""
    one_of = "|".join(names)
    new, times = re.subn(
        rf"^static (?=[\w* ]*\b(?:{one_of})\([^;{{}}]*\)\{{)",
        f"static {attribute} ",
        text,
        flags=re.M,
    )
    assert times == len(names)
    return new
