"""How RocksDB's benchmark is built from source code, as for the published reports."""

from __future__ import annotations

import subprocess

from pipeline.errors import UserError
from pipeline.targets.base import Compilation, Recipe

PROGRAM = "bin/db_bench"
"""Where the benchmark is in the home of a build that was compiled here."""


_NEVER = "2001-09-09 01:46:40"
"""The time of every build, for equal binaries: what SOURCE_DATE_EPOCH says too."""

_VERSION = ("FORCE_GIT_SHA=unknown", f"build_date={_NEVER}", f"date={_NEVER.split(maxsplit=1)[0]}")
"""What the Makefile writes into the program would be the time, and the commit of whatever
repository is around the source tree. The names are those of new and of old releases."""


def recipe(work: Compilation) -> Recipe:
    """Return the commands: compile and link, then drop what only a debugger wants.

    The library is linked in, for the processor of this machine and with the compression libraries
    that it has, which is what RocksDB's Makefile does by itself. Raises UserError where gflags
    is missing: without it the Makefile builds a benchmark that only says so.
    """
    _check_gflags(work)
    # A crate has the source tree in a folder.
    folder = "rocksdb" if (work.tree / "rocksdb/Makefile").is_file() else "."
    make = ("make", f"--jobs={work.jobs}", "DEBUG_LEVEL=0", "LIB_MODE=static")
    return Recipe(
        commands=(
            (
                *make,
                # Newer compilers warn of more than old code was written for.
                "DISABLE_WARNING_AS_ERROR=1",
                # In the place of the Makefile's own level of optimisation, which came last.
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
