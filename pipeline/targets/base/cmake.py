"""What the recipes of MySQL and MariaDB share: both are built with cmake from the same roots."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable

from pipeline.targets.base import Compilation
from pipeline.targets.base.compile import archivers
from pipeline.text.errors import UserError

TOOLS = (
    ("cmake", "configures the build"),
    ("bison", "generates the parsers"),
)
"""The programs besides compiler and make, each with its purpose."""

RELEASE = (
    # Without a build type both use one with flags of their own. A release appends -O3 to the flags
    # of the options; that is removed here, so that the options decide.
    "-DCMAKE_BUILD_TYPE=Release",
    "-DCMAKE_C_FLAGS_RELEASE=-DNDEBUG",
    "-DCMAKE_CXX_FLAGS_RELEASE=-DNDEBUG",
)
"""Options for a release build with the flags of the build options and no others."""


def configure(work: Compilation, options: Iterable[str]) -> tuple[str, ...]:
    """Return the command that configures a build in the folder ``build`` of the tree.

    The ``configure`` options of the build options come last, so that they decide.
    """
    return (
        "cmake",
        "-S.",
        "-Bbuild",
        f"-DCMAKE_INSTALL_PREFIX={work.home}",
        # With a compiler behind a cache, cmake would take the cache for the assembler.
        f"-DCMAKE_ASM_COMPILER={work.options.compiler}",
        # Without the type STRING, cmake would take the name for that of a file in the tree.
        *(f"-DCMAKE_{name}:STRING={program}" for name, program in archivers(work.options).items()),
        *RELEASE,
        *options,
        *work.options.configure,
    )


def compile_target(work: Compilation, target: str) -> tuple[str, ...]:
    """Return the command that compiles one target of a configured build, and what it needs."""
    return ("make", f"--jobs={work.jobs}", "--no-print-directory", "-C", "build", target)


def check_machine(work: Compilation, name: str, headers: Iterable[tuple[str, str]]) -> None:
    """Raise UserError with all tools and headers that a build needs and this machine lacks.

    ``name`` is the name of the DBMS. ``headers`` are pairs of a header and the Debian package that
    has it.
    """
    missing = [tool for tool, _ in TOOLS if shutil.which(tool) is None]
    missing += [package for header, package in headers if not _has(work.cxx, header)]
    if missing:
        raise UserError(
            f"the build of {name} needs packages that are not installed; run as root: apt-get "
            f"install {' '.join(missing)}"
        )


def _has(cxx: str, header: str) -> bool:
    answer = subprocess.run(
        [*cxx.split(), "-E", "-x", "c++", "-"],
        input=f"#if !__has_include(<{header}>)\n#error\n#endif\n",
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.returncode == 0
