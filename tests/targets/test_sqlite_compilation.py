"""How SQLite is compiled: by the real compiler, of a small file in the place of the large one."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import pytest

from pipeline.machine.account import Account
from pipeline.measure.build import SHIPPED_OPTIONS
from pipeline.model import BuildOptions, Revision
from pipeline.targets.base import Compilation, Recipe
from pipeline.targets.base.compile import CompileError, run_recipe
from pipeline.targets.base.programs import program_hash
from pipeline.targets.sqlite import SQLite
from pipeline.targets.sqlite.compilation import LIBRARY
from pipeline.text.errors import UserError

SMALL = """\
/* a library */
#include <unistd.h>
int sqlite3_line(void) { return __LINE__; }
int sqlite3_limit(void) { return SQLITE_MAX_VARIABLE_NUMBER; }
int sqlite3_threads(void) { return SQLITE_THREADSAFE; }
"""


@pytest.fixture
def tree(server_folder: Path) -> Path:
    path = server_folder / "tree"
    path.mkdir(mode=0o755)
    return path


def compilation(tree: Path, options: BuildOptions = SHIPPED_OPTIONS["rel_o2nofp"]) -> Compilation:
    home = tree.with_name("home")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    return Compilation(
        revision=Revision(target="sqlite", version="3.46.0", order=(3, 46, 0), major="3.46"),
        tree=tree,
        home=home,
        options=options,
        compiler=options.compiler,
        cxx="g++",
        flags=options.flags,
        jobs=2,
    )


def built(
    tree: Path, account: Account, text: str, options: BuildOptions = SHIPPED_OPTIONS["rel_o2nofp"]
) -> Path:
    """Compile ``text`` as the amalgamation and return the home."""
    (tree / "sqlite3.c").write_text(text)
    work = compilation(tree, options)
    account.give(tree)
    with (tree / "log").open("wb") as log:
        run_recipe(work, SQLite().recipe(work), account, None, log)
    return work.home


def recipe(tree: Path, *files: str) -> Recipe:
    for name in files:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()
    return SQLite().recipe(compilation(tree))


def test_the_library_has_the_options_that_are_chosen(tree: Path, account: Account) -> None:
    library = ctypes.CDLL(str(built(tree, account, SMALL) / "lib" / LIBRARY))
    assert library.sqlite3_limit() == 32766
    assert library.sqlite3_threads() == 2


def test_options_of_the_build_come_last(tree: Path, account: Account) -> None:
    options = BuildOptions(name="mine", configure=("-USQLITE_THREADSAFE", "-DSQLITE_THREADSAFE=0"))
    library = ctypes.CDLL(str(built(tree, account, SMALL, options) / "lib" / LIBRARY))
    assert library.sqlite3_threads() == 0


def test_equal_code_is_an_equal_library(tree: Path, account: Account) -> None:
    before = program_hash(built(tree, account, SMALL), ("lib",))
    commented = SMALL.replace("int", "/* and\n\n\nmore */ int").replace("}", "} // ends")
    assert program_hash(built(tree, account, commented), ("lib",)) == before
    other = SMALL.replace("return SQLITE_THREADSAFE", "return 1 + SQLITE_THREADSAFE")
    assert program_hash(built(tree, account, other), ("lib",)) != before


def test_the_amalgamation_is_found_where_it_lies(tree: Path) -> None:
    inside = recipe(tree, "sqlite3/sqlite3.c")
    assert inside.folder == "sqlite3"
    assert inside.copies == ((f"sqlite3/{LIBRARY}", f"lib/{LIBRARY}"),)
    at_the_root = recipe(tree, "sqlite3.c", "src/sqlite.h.in")
    assert at_the_root.folder == "."
    assert len(at_the_root.commands) == 3


def test_a_source_tree_first_makes_the_amalgamation(tree: Path) -> None:
    found = recipe(tree, "src/sqlite.h.in", "configure")
    assert found.commands[:2] == (("./configure",), ("make", "--jobs=2", "sqlite3.c"))
    assert len(found.commands) == 5


def test_the_compiler_cache_goes_before_the_compiler(tree: Path) -> None:
    (tree / "sqlite3.c").touch()
    work = compilation(tree).model_copy(update={"compiler": "/usr/bin/ccache clang"})
    for command in SQLite().recipe(work).commands:
        assert command[:2] == ("/usr/bin/ccache", "clang")


def test_what_is_not_sqlite_is_a_revision_that_does_not_build(tree: Path) -> None:
    with pytest.raises(CompileError, match="so it is not SQLite's"):
        recipe(tree, "README.md")


def test_what_does_not_compile_says_why(tree: Path, account: Account) -> None:
    with pytest.raises(CompileError, match="error: unknown type name"):
        built(tree, account, "unknown sqlite3;\n")


def test_a_home_without_the_library_is_none(tree: Path) -> None:
    with pytest.raises(UserError, match=f"holds no lib/{LIBRARY}"):
        SQLite().identify(tree)


@pytest.mark.parametrize("content", [b"", b"\x7fELF and no more", SMALL.encode()])
def test_a_library_that_is_none_is_one_line(tree: Path, account: Account, content: bytes) -> None:
    home = built(tree, account, SMALL)
    with pytest.raises(UserError, match=f"{LIBRARY} cannot be loaded on this machine") as error:
        SQLite().identify(home)
    (home / "lib" / LIBRARY).write_bytes(content)
    with pytest.raises(UserError, match=f"{LIBRARY} cannot be loaded on this machine") as error:
        SQLite().identify(home)
    assert "\n" not in str(error.value)
