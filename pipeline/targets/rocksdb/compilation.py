"""Build RocksDB's db_bench from source code, with the options of the published reports."""

from __future__ import annotations

import subprocess

from pipeline.targets.base import Compilation, Recipe
from pipeline.text.errors import UserError

PROGRAM = "bin/db_bench"
"""The path of db_bench in the folder of a compiled build."""


_NEVER = "2001-09-09 01:46:40"
"""The build time that is written into every build, equal to SOURCE_DATE_EPOCH, so that equal code
gives equal binaries."""

_VERSION = ("FORCE_GIT_SHA=unknown", f"build_date={_NEVER}", f"date={_NEVER.split(maxsplit=1)[0]}")
"""Makefile variables that keep the time, and the commit of a repository around the source tree, out
of the program. The names cover new and old releases."""


def recipe(work: Compilation) -> Recipe:
    """Return the recipe for db_bench: compile and link, then remove debug symbols.

    The library is linked in, for the processor of this machine and with its compression libraries,
    as RocksDB's Makefile does by default. Raises UserError if gflags is missing: without it the
    Makefile builds a db_bench that only prints an error message.
    """
    _check_gflags(work)
    # A crate has the source tree in a subfolder.
    folder = "rocksdb" if (work.tree / "rocksdb/Makefile").is_file() else "."
    make = ("make", f"--jobs={work.jobs}", "DEBUG_LEVEL=0", "LIB_MODE=static")
    return Recipe(
        commands=(
            (
                *make,
                # Newer compilers warn about old code, which the Makefile makes an error.
                "DISABLE_WARNING_AS_ERROR=1",
                # Replaces the Makefile's own optimisation level, which would come last.
                f"OPT=-DNDEBUG {work.flags}",
                *_VERSION,
                *work.options.configure,
                "db_bench",
            ),
            ("strip", "--strip-debug", "db_bench"),
        ),
        folder=folder,
        copies=((f"{folder}/db_bench", PROGRAM),),
    )


def _check_gflags(work: Compilation) -> None:
    asked = (*work.cxx.split(), "-fsyntax-only", "-include", "gflags/gflags.h", "-x", "c++")
    answer = subprocess.run([*asked, "/dev/null"], capture_output=True, check=False)
    if answer.returncode:
        raise UserError(
            "RocksDB's db_bench needs the headers of gflags; run as root: "
            "apt-get install libgflags-dev"
        )
