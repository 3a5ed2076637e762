"""Nights along a branch of SQLite, compiled and measured, of which one commit is slow.

tests/flows has the same on a simulated machine, with what follows: a second night and the fix.
"""

from __future__ import annotations

from pathlib import Path

from tests.nights import give_own_cache, leftovers, make_night
from tests.repositories import FAST_BUILD, commit, edit, git, releases_as_commits

STEP = "SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){\n"
WAIT = "  { volatile int i; for(i=0; i<20000; i++){} }\n"
"""Several times as long as a point query."""

SETTINGS = f"""{FAST_BUILD}
[detect]
min_effect = "20%"

[confirm]
smallest_effect = "20%"
"""
"""What a machine that does other things beside can measure in seconds."""

BEFORE = 5
"""Nights before the slow commit, two commits each."""


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

    def broken(self) -> None:
        """Commit what does not compile, on top of which the next commit does again."""
        whole = self._code.read_text()
        edit(self._code, "", "\nint broken(void){ return nothing_of_this_name; }\n")
        commit(self.folder, "Broken")
        self._code.write_text(whole)

    def tip(self) -> str:
        return git(self.folder, "rev-parse", "HEAD")

    def commits(self) -> list[str]:
        return git(self.folder, "log", "--format=%H", "--reverse").splitlines()


def test_the_slow_commit_is_named_beside_one_that_does_not_compile(
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

    for _ in range(BEFORE):
        branch.small(2)
        night.run("nightly")
    good = branch.tip()
    assert issues() == []

    branch.small(2)
    branch.broken()
    culprit = branch.slow()
    branch.small(2)
    night.run("nightly")
    (found,) = night.json("regressions")
    assert (found["state"], found["direction"]) == ("confirmed", "regression")
    assert found["last_good"] == good[:12]
    commits = branch.commits()
    at = commits.index(culprit)
    named = found["culprit"]
    assert (named["revision"], named["confirmed"]) == (culprit[:12], True)
    # The culprit cannot be distinguished from the commit before it, which does not compile.
    assert (named["parent"], named["between"]) == (commits[at - 2][:12], [commits[at - 1][:12]])
    (issue,) = issues()
    text = issue.read_text()
    assert f"- culprit: `{culprit[:12]}`: Step with \\| care (x)" in text
    assert "- state: confirmed\n" in text
    assert "point-query" in text
    assert "## Why: CPU" in text
    assert leftovers(server_folder / "cache") == []
