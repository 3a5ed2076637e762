"""Build MariaDB from source code: the server with InnoDB, and the scripts for its system tables."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from pipeline.targets.base import Compilation, Recipe
from pipeline.targets.base.compile import CompileError, archivers
from pipeline.targets.mariadb.install import tables_script
from pipeline.text.errors import UserError

TOOLS = (
    ("cmake", "configures the build"),
    ("bison", "generates the parsers"),
)
"""The programs besides compiler and make, each with its purpose."""

HEADERS = (
    ("libaio.h", "libaio-dev"),
    ("pcre2.h", "libpcre2-dev"),
    ("fmt/args.h", "libfmt-dev"),  # since 10.7
    # Only clients need these. They are not built, but configuring them fails without.
    ("curses.h", "libncurses-dev"),
    ("gnutls/gnutls.h", "libgnutls28-dev"),
)
"""The installed headers that a build needs, each with its Debian package. The build uses the
installed libraries, because by default it would download some of them."""

NO_PLUGINS = (
    "COLUMNSTORE",
    "CONNECT",
    "MROONGA",
    "OQGRAPH",
    "ROCKSDB",
    "S3",
    "SPHINX",
    "SPIDER",
    "TOKUDB",
)
"""Storage engines that are disabled, because they search for libraries or run their own scripts
during configuration."""

CONFIGURE = (
    # Without a build type MariaDB uses one with its own flags; with an unknown one it keeps debug
    # code. So the type is Release, as for the published reports. A release appends -O3 to the flags
    # of the options; that is removed here, so that the options decide.
    "-DCMAKE_BUILD_TYPE=Release",
    "-DCMAKE_C_FLAGS_RELEASE=-DNDEBUG",
    "-DCMAKE_CXX_FLAGS_RELEASE=-DNDEBUG",
    # Hardening flags, which the options do not name. MariaDB says that they cost a percent.
    "-DSECURITY_HARDENED=OFF",
    # Newer compilers warn about old code, and maintainer mode makes that an error.
    "-DMYSQL_MAINTAINER_MODE=NO",
    # Only the engines and plugins that a server always has, InnoDB and the performance schema among
    # them. The replication of clusters (wsrep) costs a check at every write.
    "-DWITH_NONE=ON",
    *(f"-DPLUGIN_{name}=NO" for name in NO_PLUGINS),
    "-DWITH_WSREP=OFF",
    "-DWITH_UNIT_TESTS=OFF",
    "-DWITHOUT_ABI_CHECK=ON",
    # An optional library that only some machines have would make a different server.
    "-DWITH_SYSTEMD=no",
    "-DWITH_NUMA=OFF",
    "-DWITH_JEMALLOC=no",
    "-DWITH_INNODB_BZIP2=OFF",
    "-DWITH_INNODB_LZ4=OFF",
    "-DWITH_INNODB_LZMA=OFF",
    "-DWITH_INNODB_LZO=OFF",
    "-DWITH_INNODB_SNAPPY=OFF",
    # io_uring is newer than some releases, and not every kernel allows it.
    "-DWITH_LIBAIO=ON",
    "-DCMAKE_DISABLE_FIND_PACKAGE_URING=ON",
    "-DWITH_ZLIB=bundled",
    "-DWITH_PCRE=system",
    "-DWITH_LIBFMT=system",
)
"""The CMake options for MariaDB; those of the build options are appended. A release ignores unknown
ones with a warning."""

_BUNDLED_SSL = "extra/wolfssl/wolfssl/wolfssl/ssl.h"


def recipe(work: Compilation) -> Recipe:
    """Return the recipe for MariaDB: configure, then compile only the server.

    The folder of the build gets the files of a prebuilt release: program, messages, character sets,
    and the scripts of the system tables. Raises UserError if the machine lacks tools or headers,
    and CompileError for a tree that is not MariaDB's.
    """
    bundled = (work.tree / _BUNDLED_SSL).is_file()
    headers = HEADERS if bundled else (*HEADERS, ("openssl/ssl.h", "libssl-dev"))
    _check_machine(work, headers)
    tools = archivers(work.options)
    return Recipe(
        commands=(
            (
                "cmake",
                "-S.",
                "-Bbuild",
                f"-DCMAKE_INSTALL_PREFIX={work.home}",
                # With a compiler behind a cache, cmake would take the cache for the assembler.
                f"-DCMAKE_ASM_COMPILER={work.options.compiler}",
                # Without the type STRING, cmake would take the name for that of a file in the tree.
                *(f"-DCMAKE_{name}:STRING={program}" for name, program in tools.items()),
                *CONFIGURE,
                f"-DWITH_SSL={'bundled' if bundled else 'system'}",
                *work.options.configure,
            ),
            ("make", f"--jobs={work.jobs}", "--no-print-directory", "-C", "build", "mariadbd"),
        ),
        copies=(
            ("build/sql/mariadbd", "bin/mariadbd"),
            ("build/sql/share/english", "share/english"),
            ("sql/share/charsets", "share/charsets"),
            *(_tables(work.tree, kind) for kind in ("system", "performance")),
        ),
    )


def _tables(tree: Path, kind: str) -> tuple[str, str]:
    if (script := tables_script(tree / "scripts", kind)) is None:
        raise CompileError(
            f"the source code has no script for the {kind} tables, so it is not MariaDB's"
        )
    return f"scripts/{script.name}", f"share/{script.name}"


def _check_machine(work: Compilation, headers: tuple[tuple[str, str], ...]) -> None:
    """Report all tools and headers that compiling MariaDB needs and this machine lacks."""
    missing = [tool for tool, _ in TOOLS if shutil.which(tool) is None]
    missing += [package for header, package in headers if not _has(work.cxx, header)]
    if missing:
        raise UserError(
            "the build of MariaDB needs packages that are not installed; run as root: apt-get "
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
