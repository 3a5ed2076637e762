"""How MariaDB is built: what cmake is asked for, tried on a small tree of the same words."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline.machine.account import find_account
from pipeline.model import BuildOptions, Revision
from pipeline.targets.base import Compilation
from pipeline.targets.base.compile import CompileError, flags_of, run_recipe
from pipeline.targets.mariadb import MariaDB
from pipeline.targets.mariadb.compilation import HEADERS
from pipeline.targets.mariadb.install import server_program, system_tables
from pipeline.text.errors import UserError

REVISION = Revision(target="mariadb", version="10.11.18", order=(10, 11, 18), major="10.11")
OPTIONS = BuildOptions(name="x")
CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.12)
# As MariaDB's: no type is a type with flags of its own.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
project(MySQL C CXX ASM)
option(SECURITY_HARDENED "" ON)
set(WITH_SSL yes CACHE STRING "")
message(STATUS "SSL ${WITH_SSL}, hardened ${SECURITY_HARDENED}, archives by ${CMAKE_AR}")
file(WRITE ${CMAKE_BINARY_DIR}/sql/share/english/errmsg.sys messages)
add_subdirectory(sql)
"""
SERVER = """\
#include <cstdio>
#ifdef NDEBUG
int main() { std::puts("mariadbd  Ver 10.11.18"); }
#endif
"""


def work(folder: Path, options: BuildOptions = OPTIONS, prefix: str = "mysql") -> Compilation:
    tree, home = folder / "tree", folder / "home"
    files = {
        "CMakeLists.txt": CMAKE_LISTS,
        "sql/CMakeLists.txt": "add_library(sql STATIC sql.cc fast.S)\n"
        "add_executable(mariadbd main.cc)\ntarget_link_libraries(mariadbd sql)\n",
        "sql/main.cc": SERVER,
        "sql/sql.cc": "int sql;\n",
        "sql/fast.S": '#ifdef FAST\n#error\n#endif\n.section .note.GNU-stack,"",%progbits\n',
        "sql/share/charsets/Index.xml": "<charsets/>",
        f"scripts/{prefix}_system_tables.sql": "SYSTEM;",
        f"scripts/{prefix}_performance_tables.sql": "PERFORMANCE;",
        "extra/wolfssl/wolfssl/wolfssl/ssl.h": "",
    }
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    home.mkdir()
    return Compilation(
        revision=REVISION,
        tree=tree,
        home=home,
        options=options,
        # Something before it, as a cache is.
        compiler="nice gcc",
        cxx="nice g++",
        flags=flags_of(options),
        jobs=2,
    )


@pytest.fixture
def headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Empty headers in the place of those that a machine may lack."""
    if any(shutil.which(tool) is None for tool in ("g++", "make", "cmake", "bison")):
        pytest.skip("g++, make, cmake and bison are not all here")
    folder = tmp_path / "include"
    for header, _ in HEADERS:
        (folder / header).parent.mkdir(parents=True, exist_ok=True)
        (folder / header).touch()
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", str(folder))
    return folder


@pytest.mark.usefixtures("headers")
@pytest.mark.parametrize("lto", [False, True])
def test_the_flags_of_the_options_are_all_there_are(server_folder: Path, *, lto: bool) -> None:
    asked = work(server_folder, OPTIONS.model_copy(update={"lto": lto}))
    account = find_account()
    account.give(server_folder)
    with (server_folder / "log").open("wb") as log:
        run_recipe(asked, MariaDB().recipe(asked), account, None, log)
    said = (server_folder / "log").read_text()
    assert "SSL bundled, hardened OFF" in said
    assert ("archives by gcc-ar" in said) is lto
    flags = (asked.tree / "build/sql/CMakeFiles/mariadbd.dir/flags.make").read_text()
    expected = f"CXX_FLAGS = {asked.flags} -DNDEBUG\n"
    assert expected in flags, "no -O3 of a release, no -g, no assertions"
    program = server_program(asked.home)
    shown = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    assert shown.stdout == "mariadbd  Ver 10.11.18\n"
    names = {str(path.relative_to(asked.home)) for path in asked.home.rglob("*") if path.is_file()}
    assert names == {
        "bin/mariadbd",
        "share/charsets/Index.xml",
        "share/english/errmsg.sys",
        "share/mysql_performance_tables.sql",
        "share/mysql_system_tables.sql",
    }


@pytest.mark.usefixtures("headers")
def test_the_scripts_have_another_name_since_11(tmp_path: Path) -> None:
    asked = work(tmp_path, prefix="mariadb")
    for name, to in MariaDB().recipe(asked).copies:
        if name.startswith("scripts/"):
            (asked.home / to).parent.mkdir(exist_ok=True)
            shutil.copy(asked.tree / name, asked.home / to)
    assert system_tables(asked.home, "system") == "SYSTEM;"
    assert system_tables(asked.home, "performance") == "PERFORMANCE;"


@pytest.mark.usefixtures("headers")
def test_what_the_options_choose_comes_last(tmp_path: Path) -> None:
    asked = work(tmp_path, OPTIONS.model_copy(update={"configure": ("-DWITH_WSREP=ON",)}))
    configure, make = MariaDB().recipe(asked).commands
    assert configure[-1] == "-DWITH_WSREP=ON"
    assert make[-1] == "mariadbd", "no clients, no tests"


@pytest.mark.usefixtures("headers")
def test_a_clone_without_the_connector_says_what_to_run(tmp_path: Path) -> None:
    asked = work(tmp_path)
    (asked.tree / ".gitmodules").touch()
    with pytest.raises(CompileError, match="lacks the submodule libmariadb; run in the clone: git"):
        MariaDB().recipe(asked)
    (asked.tree / "libmariadb").mkdir()
    (asked.tree / "libmariadb/CMakeLists.txt").touch()
    MariaDB().recipe(asked)


@pytest.mark.usefixtures("headers")
def test_before_10_5_the_server_is_called_mysqld_and_pcre_is_in_the_tree(tmp_path: Path) -> None:
    asked = work(tmp_path)
    (asked.tree / "sql/CMakeLists.txt").write_text("MYSQL_ADD_EXECUTABLE(mysqld ${SOURCE})\n")
    (asked.tree / "pcre").mkdir()
    (asked.tree / "pcre/CMakeLists.txt").touch()
    recipe = MariaDB().recipe(asked)
    assert "-DWITH_PCRE=bundled" in recipe.commands[0]
    assert recipe.commands[1][-1] == "mysqld"
    assert recipe.copies[0] == ("build/sql/mysqld", "bin/mysqld")


def test_submodules_that_the_server_needs_are_downloaded() -> None:
    for supply in MariaDB().supplies:
        if supply.kind in ("git", "tags"):
            assert "storage/rocksdb/rocksdb" in supply.unused_submodules
            needed = {"libmariadb", "extra/wolfssl/wolfssl"}
            assert not needed.intersection(supply.unused_submodules)


def test_a_tree_without_its_own_ssl_takes_that_of_the_machine(
    headers: Path, tmp_path: Path
) -> None:
    asked = work(tmp_path)
    shutil.rmtree(asked.tree / "extra")
    (headers / "openssl").mkdir()
    (headers / "openssl/ssl.h").touch()
    configure, _ = MariaDB().recipe(asked).commands
    assert "-DWITH_SSL=system" in configure


@pytest.mark.usefixtures("headers")
def test_another_tree_is_reported(tmp_path: Path) -> None:
    asked = work(tmp_path)
    shutil.rmtree(asked.tree / "scripts")
    with pytest.raises(CompileError, match="so it is not MariaDB's"):
        MariaDB().recipe(asked)


def test_all_that_is_missing_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = work(tmp_path).model_copy(update={"cxx": "false"})
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == "cmake" else tool)
    with pytest.raises(UserError) as error:
        MariaDB().recipe(asked)
    assert str(error.value).endswith(
        "apt-get install cmake libaio-dev libpcre2-dev libfmt-dev libncurses-dev libgnutls28-dev"
    )
