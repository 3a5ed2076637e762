"""Build SQLite from source code: compile its single source file into a shared library.

A source tree has this file, the amalgamation sqlite3.c, or the files that it is generated from.
"""

from __future__ import annotations

import shlex

from pipeline.targets.base import Compilation, Recipe
from pipeline.targets.base.compile import CompileError

OPTIONS = (
    # Every client is a thread with its own connection, so none needs a lock.
    "-DSQLITE_THREADSAFE=2",
    # Counting allocations takes one lock for all clients, which would dominate many measurements.
    "-DSQLITE_DEFAULT_MEMSTATUS=0",
    # Default since 3.32; 999 before, and a step has a list of 1000 numbers.
    "-DSQLITE_MAX_VARIABLE_NUMBER=32766",
    # 1 TB instead of 2 GB: maps a database of any size.
    "-DSQLITE_MAX_MMAP_SIZE=1099511627776",
    # No foreign code.
    "-DSQLITE_OMIT_LOAD_EXTENSION",
    # What configure finds on every Linux. Without these a waiting client sleeps whole seconds,
    # every page takes two system calls, and every allocation has a header.
    "-DHAVE_USLEEP=1",
    "-DHAVE_PREAD=1",
    "-DHAVE_PWRITE=1",
    "-DHAVE_FDATASYNC=1",
    "-DHAVE_MALLOC_H=1",
    "-DHAVE_MALLOC_USABLE_SIZE=1",
    "-DHAVE_GMTIME_R=1",
    "-DHAVE_LOCALTIME_R=1",
)
"""The compile-time options of SQLite; those of the build options are appended."""

SAME_CODE = ("-P", "-w", "-D__LINE__=0")
"""Compiler options that give equal binaries for equal code: they remove comments, empty lines and
line numbers. Some errors of SQLite include their source line, so a new comment would otherwise
change the binary."""

LIBRARY = "libsqlite3.so"


def recipe(work: Compilation) -> Recipe:
    """Return the recipe for SQLite. Raises CompileError if the source code is not SQLite's."""
    commands: list[tuple[str, ...]] = []
    if (work.tree / "sqlite3.c").exists():
        folder = "."
    elif (work.tree / "sqlite3/sqlite3.c").exists():  # as in the crate
        folder = "sqlite3"
    elif (work.tree / "src/sqlite.h.in").exists():
        folder = "."
        commands = [("./configure",), ("make", f"--jobs={work.jobs}", "sqlite3.c")]
    else:
        raise CompileError(
            "the source code has neither sqlite3.c nor src/sqlite.h.in, so it is not SQLite's"
        )
    compiler = shlex.split(work.compiler)
    flags = (*shlex.split(work.flags), "-fPIC")
    chosen = (*OPTIONS, *work.options.configure)
    commands += [
        (*compiler, *flags, *chosen, "-E", *SAME_CODE, "sqlite3.c", "-o", "sqlite3.i"),
        (*compiler, *flags, "-c", "sqlite3.i", "-o", "sqlite3.o"),
        (*compiler, *flags, "-shared", "sqlite3.o", "-o", LIBRARY, "-lpthread", "-lm"),
    ]
    return Recipe(
        commands=tuple(commands),
        folder=folder,
        copies=((f"{folder}/{LIBRARY}", f"lib/{LIBRARY}"),),
    )
