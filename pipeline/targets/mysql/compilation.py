"""Build MySQL from source code: the server with InnoDB."""

from __future__ import annotations

from pathlib import Path

from pipeline.targets.base import Compilation, Recipe
from pipeline.targets.base.cmake import check_machine, compile_target, configure
from pipeline.targets.base.compile import CompileError

HEADERS = (
    ("libaio.h", "libaio-dev"),
    # Only clients need it. They are not built, but configuring them fails without.
    ("curses.h", "libncurses-dev"),
)
"""The headers of the machine that every build needs, each with the Debian package that has it."""

CONFIGURE = (
    # Newer compilers warn about old code, and maintainer mode makes that an error.
    "-DMYSQL_MAINTAINER_MODE=OFF",
    "-DFORCE_UNSUPPORTED_COMPILER=ON",
    # Only the server is built. These need libraries and tools, or minutes, to be configured.
    "-DWITH_UNIT_TESTS=OFF",
    "-DWITH_ROUTER=OFF",
    "-DWITH_MYSQLX=OFF",
    "-DWITH_RAPID=OFF",
    "-DWITH_GROUP_REPLICATION=OFF",
    "-DWITH_EMBEDDED_SERVER=OFF",
    "-DWITH_AUTHENTICATION_CLIENT_PLUGINS=OFF",
    "-DWITH_AUTHENTICATION_FIDO=OFF",
    "-DWITH_AUTHENTICATION_KERBEROS=OFF",
    "-DWITH_AUTHENTICATION_LDAP=OFF",
    "-DWITH_AUTHENTICATION_WEBAUTHN=OFF",
    "-DWITH_FIDO=none",
    "-DWITH_CURL=none",
    *(
        f"-DWITHOUT_{name}_STORAGE_ENGINE=ON"
        for name in ("ARCHIVE", "BLACKHOLE", "EXAMPLE", "FEDERATED", "NDBCLUSTER")
    ),
    # An optional library or linker that only some machines have would make a different server.
    "-DWITH_SYSTEMD=OFF",
    "-DWITH_NUMA=OFF",
    "-DWITH_JEMALLOC=OFF",
    "-DWITH_TCMALLOC=OFF",
    "-DUSE_LD_LLD=OFF",
    "-DUSE_LD_GOLD=OFF",
    *(
        f"-DWITH_{name}=bundled"
        for name in (
            "EDITLINE",
            "ICU",
            "LIBEVENT",
            "LZ4",
            "PROTOBUF",
            "RAPIDJSON",
            "ZLIB",
            "ZSTD",
        )
    ),
    "-DENABLE_DOWNLOADS=OFF",
    "-DDOWNLOAD_BOOST=OFF",
)
"""The options for configuring MySQL; the build options' own follow them. A release warns about
unknown ones and ignores them."""

_BOOST = "-DWITH_BOOST="


def recipe(work: Compilation) -> Recipe:
    """Return the recipe for MySQL: configure, then compile only the server.

    The folder of the build gets the server, its libraries, messages and character sets, and for
    releases before 5.7 the script of the system tables. Raises UserError if the machine lacks tools
    or headers, and CompileError for a tree that is not MySQL's or lacks Boost.
    """
    tree = work.tree
    if not (tree / "sql/mysqld.cc").is_file():
        raise CompileError("the source code has no sql/mysqld.cc, so it is not MySQL's")
    # Up to 5.7, MySQL came with a TLS library.
    bundled = (tree / "extra/yassl").is_dir()
    check_machine(
        work, "MySQL", HEADERS if bundled else (*HEADERS, ("openssl/ssl.h", "libssl-dev"))
    )
    old = (tree / "sql/share/charsets").is_dir()
    share = "sql/share" if old else "share"
    script = "scripts/mysql_system_tables.sql"
    return Recipe(
        commands=(
            configure(
                work,
                (
                    *CONFIGURE,
                    f"-DWITH_SSL={'bundled' if bundled else 'system'}",
                    *_boost(work),
                ),
            ),
            compile_target(work, "mysqld"),
            ("cmake", "-E", "make_directory", "build/library_output_directory"),
        ),
        copies=(
            ("build/sql/mysqld" if old else "build/runtime_output_directory/mysqld", "bin/mysqld"),
            # The server finds the libraries that were built with it there.
            ("build/library_output_directory", "lib"),
            (f"build/{share}/english", "share/english"),
            (f"{share}/charsets", "share/charsets"),
            *([(script, f"share/{Path(script).name}")] if (tree / script).is_file() else []),
        ),
    )


def _boost(work: Compilation) -> tuple[str, ...]:
    """Return the option that names the Boost library, which some releases of MySQL need.

    From 8.3 on it is a part of the code. Raises CompileError if it is missing.
    """
    tree = work.tree
    if not (tree / "cmake/boost.cmake").is_file() or (tree / "extra/boost").is_dir():
        return ()
    if (tree / "boost").is_dir():
        return (f"{_BOOST}{tree / 'boost'}",)
    if any(option.startswith(_BOOST) for option in work.options.configure):
        return ()
    raise CompileError(
        "the source code needs Boost, which it does not contain; use the archive mysql-boost-..., "
        f'or add "{_BOOST}FOLDER" to configure of [[build]]'
    )
