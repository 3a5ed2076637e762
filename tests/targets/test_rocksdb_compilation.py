"""How RocksDB is built: what its Makefile is asked for, tried on a small one of the same words."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline.machine.account import find_account
from pipeline.model import BuildOptions, Revision
from pipeline.targets.base import Compilation
from pipeline.targets.base.compile import run_recipe
from pipeline.targets.rocksdb import RocksDB
from pipeline.targets.rocksdb.compilation import PROGRAM
from pipeline.text.errors import UserError

REVISION = Revision(target="rocksdb", version="9.9.3", order=(9, 9, 3), major="9.9")
MAKEFILE = """\
# As RocksDB's: its own level of optimisation comes behind the flags of the environment.
OPT += -O1
build_date := $(shell date)
db_bench: main.cc
\t$(CXX) -g $(CXXFLAGS) $(OPT) -DDATE='"$(build_date)"' -DLEVEL=$(DEBUG_LEVEL) -o $@ main.cc
"""
MAIN = """\
#include <cstdio>
int main() { std::printf("db_bench %s %d %d\\n", DATE, LEVEL, __OPTIMIZE__); }
"""


def work(folder: Path, within: str = ".", cxx: str = "g++") -> Compilation:
    tree, home = folder / "tree", folder / "home"
    for made in (tree / within, home):
        made.mkdir(parents=True)
    (tree / within / "Makefile").write_text(MAKEFILE)
    (tree / within / "main.cc").write_text(MAIN)
    return Compilation(
        revision=REVISION,
        tree=tree,
        home=home,
        options=BuildOptions(name="x"),
        compiler="gcc",
        cxx=cxx,
        flags="-O2 -fno-omit-frame-pointer",
        jobs=2,
    )


@pytest.fixture
def _gflags(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty header in the place of the one that a machine may lack."""
    if any(shutil.which(tool) is None for tool in ("g++", "make", "strip")):
        pytest.skip("g++, make and strip are not all here")
    header = tmp_path / "include/gflags/gflags.h"
    header.parent.mkdir(parents=True)
    header.touch()
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", str(tmp_path / "include"))


@pytest.mark.usefixtures("_gflags")
@pytest.mark.parametrize("within", ["rocksdb", "."])
def test_a_crate_has_the_tree_in_a_folder_and_a_repository_has_not(
    server_folder: Path, within: str
) -> None:
    asked = work(server_folder, within)
    account = find_account()
    account.give(server_folder)
    with (server_folder / "log").open("wb") as log:
        run_recipe(asked, RocksDB().recipe(asked), account, None, log)
    program = asked.home / PROGRAM
    shown = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    assert shown.stdout == "db_bench 2001-09-09 01:46:40 0 1\n", "equal code, equal programs"
    said = (server_folder / "log").read_text()
    assert "-DNDEBUG -O2 -fno-omit-frame-pointer" in said
    assert "-O1" not in said
    sections = subprocess.run(["readelf", "-S", str(program)], capture_output=True, check=True)
    assert b".symtab" in sections.stdout, "profiles need the names of functions"
    assert b".debug_info" not in sections.stdout


def test_missing_gflags_are_reported_before_anything_is_compiled(server_folder: Path) -> None:
    with pytest.raises(UserError) as error:
        RocksDB().recipe(work(server_folder, cxx="false"))
    assert str(error.value).endswith("apt-get install libgflags-dev")
