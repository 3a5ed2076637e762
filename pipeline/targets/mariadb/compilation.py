"""How MariaDB is built from source code: the server with InnoDB, and what makes its tables."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from pipeline.errors import UserError
from pipeline.targets.base import Compilation, Recipe
from pipeline.targets.base.compile import CompileError, archivers
from pipeline.targets.mariadb.install import tables_script

TOOLS = (
    ("cmake", "configures the build"),
    ("bison", "makes the parsers"),
)
"""The programs besides compiler and make, each with what it is for."""

HEADERS = (
    ("libaio.h", "libaio-dev"),
    ("pcre2.h", "libpcre2-dev"),
    ("fmt/args.h", "libfmt-dev"),  # since 10.7
    # Of clients, which are not built. They are configured all the same, and insist on these.
    ("curses.h", "libncurses-dev"),
    ("gnutls/gnutls.h", "libgnutls28-dev"),
)
"""What is taken of the machine because a release does not bring it, each header with the Debian
package that has it. Left to itself the build would download some of these."""

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
"""The engines that look for libraries or run scripts of their own while they are configured."""

CONFIGURE = (
    # Where no type is given MariaDB takes one with flags of its own, and one that it does not know
    # keeps what its developers debug with. So it is a release, as for the published reports; but
    # -O3, which a release puts behind the flags of the options, is taken out: those count.
    "-DCMAKE_BUILD_TYPE=Release",
    "-DCMAKE_C_FLAGS_RELEASE=-DNDEBUG",
    "-DCMAKE_CXX_FLAGS_RELEASE=-DNDEBUG",
    # More flags that nobody named. They cost a percent, says MariaDB.
    "-DSECURITY_HARDENED=OFF",
    # Newer compilers warn of more than old code was written for.
    "-DMYSQL_MAINTAINER_MODE=NO",
    # Of engines and plugins what a server has by itself, InnoDB and the performance schema among
    # them. The replication of clusters (wsrep) costs a look wherever something is written.
    "-DWITH_NONE=ON",
    *(f"-DPLUGIN_{name}=NO" for name in NO_PLUGINS),
    "-DWITH_WSREP=OFF",
    "-DWITH_UNIT_TESTS=OFF",
    "-DWITHOUT_ABI_CHECK=ON",
    # Whatever else is found on one machine and not on the next would make another server.
    "-DWITH_SYSTEMD=no",
    "-DWITH_NUMA=OFF",
    "-DWITH_JEMALLOC=no",
    "-DWITH_INNODB_BZIP2=OFF",
    "-DWITH_INNODB_LZ4=OFF",
    "-DWITH_INNODB_LZMA=OFF",
    "-DWITH_INNODB_LZO=OFF",
    "-DWITH_INNODB_SNAPPY=OFF",
    # io_uring is newer than some releases, and not every kernel lets a server have it.
    "-DWITH_LIBAIO=ON",
    "-DCMAKE_DISABLE_FIND_PACKAGE_URING=ON",
    "-DWITH_ZLIB=bundled",
    "-DWITH_PCRE=system",
    "-DWITH_LIBFMT=system",
)
"""What is chosen when MariaDB is configured; the build options' own choices come after these. What
a release does not know is warned of and ignored."""

_BUNDLED_SSL = "extra/wolfssl/wolfssl/wolfssl/ssl.h"


def recipe(work: Compilation) -> Recipe:
    """Return the commands: configure, compile the server alone.

    It goes into the home as in a prebuilt release: program, messages, character sets, and the
    scripts of system tables. Raises UserError where the machine lacks what it is built with, and
    CompileError for a tree that is none of MariaDB's.
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
                # Of a compiler behind a cache, cmake would take the cache for the assembler.
                f"-DCMAKE_ASM_COMPILER={work.options.compiler}",
                # Of no type, a name would be taken for that of a file in the tree.
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
        raise CompileError(f"it holds no script for the {kind} tables: it is not MariaDB")
    return f"scripts/{script.name}", f"share/{script.name}"


def _check_machine(work: Compilation, headers: tuple[tuple[str, str], ...]) -> None:
    """Find what is missing before anything is configured, all of it at once."""
    missing = [tool for tool, _ in TOOLS if shutil.which(tool) is None]
    missing += [package for header, package in headers if not _has(work.cxx, header)]
    if missing:
        raise UserError(
            "MariaDB is built with more than this machine has; run as root: "
            f"apt-get install {' '.join(missing)}"
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
