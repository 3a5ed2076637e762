"""The whole loop, unattended: nights along a branch of SQLite, of which one commit is slow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.nights import give_own_cache, leftovers, make_night
from tests.repositories import FAST_BUILD, commit, edit, git, releases_as_commits

STEP = "SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){\n"
WAIT = "  { volatile int i; for(i=0; i<2500; i++){} }\n"
"""About a third of the time of a point query."""

SETTINGS = f"""{FAST_BUILD}
[detect]
min_effect = "10%"

[confirm]
smallest_effect = "10%"
"""
"""What a machine that does other things beside can tell in seconds."""

BEFORE = 5
"""Nights before the slow commit, two commits each."""

PATIENCE = 4
"""Nights within which a change of this size has to be known."""


class Branch:
    """A repository that grows: real releases of SQLite, small commits, a slow one and its end."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder, self._number = folder, 0
        releases_as_commits(folder, ["3.46.0"], cache)
        self._code = folder / "sqlite3.c"

    def small(self, count: int = 1) -> None:
        """Commit something small and real: a function, a comment, a README."""
        for _ in range(count):
            self._number += 1
            number = self._number
            if number % 3 == 0:
                (self.folder / "README").write_text(f"{number} words\n")
            elif number % 3 == 1:
                edit(self._code, "", f"\nint sqlite3_of_{number}(void){{ return {number}; }}\n")
            else:
                edit(self._code, "", f"\n/* Comment {number}. */\n")
            commit(self.folder, f"Small change {number}")

    def slow(self) -> str:
        """Commit what makes every statement slower; return its hash."""
        text = self._code.read_text()
        assert text.count(STEP) == 1
        self._code.write_text(text.replace(STEP, STEP + WAIT))
        commit(self.folder, "Step with | care")
        return self.tip()

    def mend(self) -> str:
        """Commit the end of that; return its hash."""
        self._code.write_text(self._code.read_text().replace(WAIT, ""))
        commit(self.folder, "Step without care")
        return self.tip()

    def tip(self) -> str:
        return git(self.folder, "rev-parse", "HEAD")

    def commits(self) -> list[str]:
        return git(self.folder, "log", "--format=%H", "--reverse").splitlines()


def test_from_a_slow_commit_to_its_issue_and_to_its_end(
    tmp_path: Path, server_folder: Path, cache: Path
) -> None:
    branch = Branch(tmp_path / "repository", cache)
    night = make_night(
        tmp_path / "night",
        revisions=[],
        steps=["point-query"],
        target="sqlite",
        config="wal",
        repetitions=3,
        more=SETTINGS,
    )
    config = night.folder / "nightshift.toml"
    config.write_text(
        config.read_text().replace(
            "revisions = []",
            f'source = "git"\nrepository = "{branch.folder}"\nnewest = 1\n'
            'build = "fast_to_compile"',
        )
    )
    give_own_cache(night, server_folder / "cache", cache)

    def issues() -> list[Path]:
        return sorted((night.folder / "results/issues").iterdir())

    def nights_until(state: str) -> dict[str, Any]:
        """Let a night pass after each small commit until the one issue is in this state."""
        for _ in range(PATIENCE):
            night.run("nightly")
            known = [
                one
                for one in night.json("regressions")
                if (one["direction"], one["state"]) == ("regression", state)
            ]
            if known:
                (regression,) = known
                return dict(regression)
            branch.small()
        raise AssertionError(f"not {state} after {PATIENCE} nights")

    for _ in range(BEFORE):
        branch.small(2)
        night.run("nightly")
    good = branch.tip()
    assert issues() == []

    branch.small(2)
    culprit = branch.slow()
    branch.small(2)
    found = nights_until("confirmed")
    assert found["last_good"] == good[:12]
    (issue,) = issues()
    text = issue.read_text()
    parent = branch.commits()[branch.commits().index(culprit) - 1]
    named = f"`{culprit[:12]}`: Step with \\| care (x); its parent is `{parent[:12]}`"
    assert f"- culprit: {named}\n" in text
    assert "- state: confirmed\n" in text
    assert "point-query" in text
    assert "## Why: CPU" in text
    assert night.json("nightly")["runs"] == 0

    branch.mend()
    resolved = nights_until("resolved")
    assert resolved["fingerprint"] == found["fingerprint"]
    assert issues() == [issue], "one cause, one issue, and its end is no other"
    assert "- state: resolved\n" in issue.read_text()
    assert len(branch.commits()) >= 16
    assert leftovers(server_folder / "cache") == []
