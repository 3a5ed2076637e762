"""How MySQL is built: what cmake is asked for, tried on a small tree of the same names."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline.machine.account import find_account
from pipeline.model import BuildOptions, Revision
from pipeline.targets.base import Compilation
from pipeline.targets.base.compile import CompileError, flags_of, run_recipe
from pipeline.targets.mysql import MySQL
from pipeline.targets.mysql.compilation import HEADERS
from pipeline.targets.mysql.install import command, environment, server_program, shared
from pipeline.text.errors import UserError

REVISION = Revision(target="mysql", version="9.7.4", order=(9, 7, 4), major="9.7")
CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.12)
project(MySQL C CXX)
set(WITH_SSL none CACHE STRING "")
message(STATUS "SSL ${WITH_SSL}, boost ${WITH_BOOST}, router ${WITH_ROUTER}")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/runtime_output_directory)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/library_output_directory)
file(WRITE ${CMAKE_BINARY_DIR}/share/english/errmsg.sys messages)
file(WRITE ${CMAKE_SOURCE_DIR}/part.cc "int part() { return 0; }")
add_library(part SHARED part.cc)
add_executable(mysqld sql/mysqld.cc)
target_link_libraries(mysqld part)
"""
SERVER = """\
#include <cstdio>
int part();
#ifdef NDEBUG
int main() { std::puts("mysqld  Ver 9.7.4"); return part(); }
#endif
"""


def work(folder: Path, files: tuple[str, ...] = (), configure: tuple[str, ...] = ()) -> Compilation:
    """Return the work of building a tree as MySQL 8.4 and later have it, with more files."""
    tree, home = folder / "tree", folder / "home"
    contents = {"CMakeLists.txt": CMAKE_LISTS, "sql/mysqld.cc": SERVER}
    if not any(name.startswith("sql/share/") for name in files):
        contents["share/charsets/Index.xml"] = "<charsets/>"
    for name, text in {**contents, **dict.fromkeys(files, "")}.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    home.mkdir()
    options = BuildOptions(name="x", configure=configure)
    return Compilation(
        revision=REVISION,
        tree=tree,
        home=home,
        options=options,
        compiler="nice gcc",
        cxx="nice g++",
        flags=flags_of(options),
        jobs=2,
    )


@pytest.fixture(autouse=True)
def headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Empty headers in the place of those that a machine may lack."""
    if any(shutil.which(tool) is None for tool in ("g++", "make", "cmake", "bison")):
        pytest.skip("g++, make, cmake and bison are not all here")
    folder = tmp_path / "include"
    for header in (*(header for header, _ in HEADERS), "openssl/ssl.h"):
        (folder / header).parent.mkdir(parents=True, exist_ok=True)
        (folder / header).touch()
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", str(folder))
    return folder


def test_a_server_is_compiled_with_the_flags_of_the_options(server_folder: Path) -> None:
    asked = work(server_folder)
    account = find_account()
    account.give(server_folder)
    with (server_folder / "log").open("wb") as log:
        run_recipe(asked, MySQL().recipe(asked), account, None, log)
    assert "SSL system, boost , router OFF" in (server_folder / "log").read_text()
    flags = (asked.tree / "build/CMakeFiles/mysqld.dir/flags.make").read_text()
    assert f"CXX_FLAGS = {asked.flags} -DNDEBUG\n" in flags, "no -O3 of a release, no assertions"
    assert server_program(asked.home) == asked.home / "bin/mysqld"
    # The libraries of the build are found where they were copied.
    shutil.rmtree(asked.tree)
    shown = subprocess.run(
        [*command(asked.home)],
        env={**environment(asked.home)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == "mysqld  Ver 9.7.4\n"
    assert (shared(asked.home) / "english/errmsg.sys").read_text() == "messages"
    assert (shared(asked.home) / "charsets/Index.xml").is_file()


def test_old_trees_have_other_folders_and_a_tls_library(tmp_path: Path) -> None:
    files = ("sql/share/charsets/x", "extra/yassl/x", "scripts/mysql_system_tables.sql")
    recipe = MySQL().recipe(work(tmp_path, files))
    assert "-DWITH_SSL=bundled" in recipe.commands[0]
    assert dict(recipe.copies) == {
        "build/sql/mysqld": "bin/mysqld",
        "build/library_output_directory": "lib",
        "build/sql/share/english": "share/english",
        "sql/share/charsets": "share/charsets",
        "scripts/mysql_system_tables.sql": "share/mysql_system_tables.sql",
    }


@pytest.mark.parametrize(
    ("files", "configure", "boost"),
    [
        ((), (), None),
        (("cmake/boost.cmake", "extra/boost/x"), (), None),
        (("cmake/boost.cmake", "boost/boost_1_77_0/x"), (), "{tree}/boost"),
        (("cmake/boost.cmake",), ("-DWITH_BOOST=/opt/boost",), "/opt/boost"),
    ],
)
def test_boost_comes_with_the_code_or_from_the_options(
    tmp_path: Path, files: tuple[str, ...], configure: tuple[str, ...], boost: str | None
) -> None:
    asked = work(tmp_path, files, configure)
    given = [each for each in MySQL().recipe(asked).commands[0] if each.startswith("-DWITH_BOOST=")]
    assert given == ([f"-DWITH_BOOST={boost.format(tree=asked.tree)}"] if boost else [])


def test_a_tree_without_boost_says_what_to_use(tmp_path: Path) -> None:
    asked = work(tmp_path, ("cmake/boost.cmake",))
    with pytest.raises(CompileError, match=r"needs Boost, .* use the archive mysql-boost") as error:
        MySQL().recipe(asked)
    assert "\n" not in str(error.value)


def test_another_tree_is_reported(tmp_path: Path) -> None:
    asked = work(tmp_path)
    (asked.tree / "sql/mysqld.cc").unlink()
    with pytest.raises(CompileError, match="so it is not MySQL's"):
        MySQL().recipe(asked)


def test_what_is_missing_is_reported_in_one_line(tmp_path: Path) -> None:
    asked = work(tmp_path).model_copy(update={"cxx": "false"})
    with pytest.raises(UserError, match="the build of MySQL needs packages") as error:
        MySQL().recipe(asked)
    assert str(error.value).endswith("install libaio-dev libncurses-dev libssl-dev")
