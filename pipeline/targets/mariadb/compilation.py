"""Build MariaDB from source code: the server with InnoDB, and the scripts for its system tables."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.targets.base import Compilation, Recipe
from pipeline.targets.base.cmake import check_machine, compile_target, configure
from pipeline.targets.base.compile import CompileError
from pipeline.targets.mariadb.install import tables_script

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
    "-DWITH_LIBFMT=system",
)
"""The CMake options for MariaDB; those of the build options are appended. A release ignores unknown
ones with a warning."""

UNUSED_SUBMODULES = (
    "extra/libmarias3/libmarias3",
    "storage/columnstore/columnstore",
    "storage/maria/libmarias3",
    "storage/rocksdb/rocksdb",
    "wsrep-lib",
)
"""The submodules of the repository that a build with these options does not read."""

_CONNECTOR = "libmariadb/CMakeLists.txt"
_BUNDLED_SSL = "extra/wolfssl/wolfssl/wolfssl/ssl.h"
_BUNDLED_PCRE = "pcre/CMakeLists.txt"


def recipe(work: Compilation) -> Recipe:
    """Return the recipe for MariaDB: configure, then compile only the server.

    The folder of the build gets the files of a prebuilt release: program, messages, character sets,
    and the scripts of the system tables. Raises UserError if the machine lacks tools or headers,
    and CompileError for a tree that is not MariaDB's.
    """
    if (work.tree / ".gitmodules").is_file() and not (work.tree / _CONNECTOR).is_file():
        raise CompileError(
            "the source code lacks the submodule libmariadb; run in the clone: git submodule "
            "update --init"
        )
    bundled = (work.tree / _BUNDLED_SSL).is_file()
    headers = HEADERS if bundled else (*HEADERS, ("openssl/ssl.h", "libssl-dev"))
    check_machine(work, "MariaDB", headers)
    # Before 10.5, PCRE came with the code, and the server had the name of MySQL's.
    pcre = "bundled" if (work.tree / _BUNDLED_PCRE).is_file() else "system"
    server = _server(work.tree)
    return Recipe(
        commands=(
            configure(
                work,
                (
                    *CONFIGURE,
                    f"-DWITH_SSL={'bundled' if bundled else 'system'}",
                    f"-DWITH_PCRE={pcre}",
                ),
            ),
            compile_target(work, server),
        ),
        copies=(
            (f"build/sql/{server}", f"bin/{server}"),
            ("build/sql/share/english", "share/english"),
            ("sql/share/charsets", "share/charsets"),
            *(_tables(work.tree, kind) for kind in ("system", "performance")),
        ),
    )


def _server(tree: Path) -> str:
    """Return the name of the server's program in a tree of MariaDB."""
    try:
        lists = (tree / "sql/CMakeLists.txt").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError as error:
        raise CompileError(
            "the source code has no sql/CMakeLists.txt, so it is not MariaDB's"
        ) from error
    return "mariadbd" if re.search(r"(?i)add_executable\(mariadbd\b", lists) else "mysqld"


def _tables(tree: Path, kind: str) -> tuple[str, str]:
    if (script := tables_script(tree / "scripts", kind)) is None:
        raise CompileError(
            f"the source code has no script for the {kind} tables, so it is not MariaDB's"
        )
    return f"scripts/{script.name}", f"share/{script.name}"
