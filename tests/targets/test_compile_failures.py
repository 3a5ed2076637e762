"""The one line for a command that failed, out of all that it said."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.machine.account import find_account
from pipeline.model import BuildOptions, Revision
from pipeline.targets.base import Compilation, Recipe
from pipeline.targets.base.compile import CompileError, archivers, run_recipe

CMAKE = """\
-- Looking for error.h - not found
CMake Error at cmake/x.cmake:7 (MESSAGE):

  No usable rwlock

-- Configuring incomplete, errors occurred!
"""


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("a.c:1: warning: x\na.c:2: error: y\nmake: *** Error 1\n", "a.c:2: error: y"),
        ("ld: undefined reference to `x'\n", "ld: undefined reference to `x'"),
        (CMAKE, "CMake Error at cmake/x.cmake:7 (MESSAGE): No usable rwlock"),
        ("one\ntwo\n", "two"),
        ("one:\n", "one:"),
        ("", "exit code 3"),
    ],
)
def test_the_first_error_is_the_reason(server_folder: Path, said: str, reason: str) -> None:
    (server_folder / "said").write_text(said)
    work = Compilation(
        revision=Revision(target="x", version="1", order=(1,), major="1"),
        tree=server_folder,
        home=server_folder / "home",
        options=BuildOptions(name="x"),
        compiler="gcc",
        cxx="g++",
        flags="",
        jobs=1,
    )
    recipe = Recipe(commands=(("sh", "-c", "cat said; exit 3"),))
    account = find_account()
    account.give(server_folder)
    with (server_folder / "log").open("wb") as log, pytest.raises(CompileError) as error:
        run_recipe(work, recipe, account, None, log)
    assert str(error.value) == f"sh: {reason}"


@pytest.mark.parametrize(
    ("compiler", "tool"), [("gcc-12", "gcc-ar"), ("clang", "llvm-ar"), ("/opt/clang-18", "llvm-ar")]
)
def test_archives_of_link_time_optimisation_are_made_by_the_compilers_own(
    compiler: str, tool: str
) -> None:
    assert archivers(BuildOptions(name="x", compiler=compiler, lto=True))["AR"] == tool
    assert archivers(BuildOptions(name="x", compiler=compiler)) == {}
