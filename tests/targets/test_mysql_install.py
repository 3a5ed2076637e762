from __future__ import annotations

import io
import platform
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pipeline.machine.account import Account
from pipeline.measure.build import install as install_release
from pipeline.model import Build, Provenance, Revision
from pipeline.sources.base import Fetched
from pipeline.targets.mysql import MySQL, datadir, install
from pipeline.text.errors import UserError

SUPPLIES = {supply.name: supply for supply in MySQL().supplies}
PROVENANCE = Provenance(source="s", locator="l", sha256="ab" * 32, options="official")
PROGRAM = b'#!/bin/sh\necho "$0  Ver 5.6.1 for Linux with $LD_LIBRARY_PATH"\n'
GOOD: Mapping[str, bytes] = {
    "package/package.json": b"{}",
    "package/index.js": b"run",
    "package/server/mysqld": PROGRAM,
    "package/server/libaio.so.1": b"elf",
    "package/server/start.sh": b"run",
    "package/server/data/mysql/ibdata1": b"database",
    "package/server/share/english/errmsg.sys": b"messages",
    "package/server/share/mysql_system_tables.sql": b"CREATE TABLE user;",
}


def archive(folder: Path, members: Mapping[str, bytes]) -> Path:
    path = folder / "thing.tgz"
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            info.mode = 0o755 if name.endswith(("mysqld", ".sh")) else 0o600
            tar.addfile(info, io.BytesIO(content))
    return path


def install_from(source: str, path: Path, folder: Path) -> Build:
    revision = Revision(
        target="mysql", version="5.6.1", order=(5, 6, 1), major="5.6", supply=SUPPLIES[source]
    )
    fetched = Fetched(path=path, locator="thing@5.6.1", sha256="ab" * 32)
    return install_release(revision, fetched, folder / "builds" / "5.6.1", PROVENANCE)


def packed(folder: Path, members: Mapping[str, bytes]) -> Build:
    return install_from("npm", archive(folder, members), folder)


def refused(ask: Callable[[], object], folder: Path) -> str:
    """Install what must be refused: one line, nothing left. Return the line."""
    with pytest.raises(UserError) as error:
        ask()
    assert "\n" not in str(error.value)
    assert list((folder / "builds").iterdir()) == []
    return str(error.value)


def files_of(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if not path.is_dir()}


def test_an_npm_package_becomes_a_build_that_everyone_can_run(server_folder: Path) -> None:
    build = packed(server_folder, GOOD)
    assert files_of(build.home) == {
        "bin/mysqld",
        "lib/libaio.so.1",
        "share/english/errmsg.sys",
        "share/mysql_system_tables.sql",
    }
    # The home was another one when it was asked.
    assert build.provenance.reported_version.startswith("mysqld  Ver 5.6.1 for Linux with /")
    assert build.provenance.reported_version.endswith("/lib"), "its own libraries come first"
    modes = {path.name: path.stat().st_mode & 0o777 for path in build.home.rglob("*")}
    assert modes["bin"] == modes["mysqld"] == 0o755
    assert modes["errmsg.sys"] == modes["libaio.so.1"] == 0o644


def test_the_hash_is_over_the_program_files(server_folder: Path) -> None:
    def hash_of(name: str, members: Mapping[str, bytes]) -> str:
        folder = server_folder / name
        folder.mkdir()
        return packed(folder, members).hash

    same = hash_of("a", GOOD)
    assert hash_of("b", {**GOOD, "package/server/share/x": b"y", "package/y": b"z"}) == same
    assert hash_of("c", {**GOOD, "package/server/libaio.so.1": b"ELF"}) != same


@pytest.mark.parametrize("name", ["../../../out", "a/../../../../out"])
def test_members_that_lead_outside_are_refused(server_folder: Path, name: str) -> None:
    members = {**GOOD, f"package/server/share/{name}": b"x"}
    assert "outside of the archive" in refused(
        lambda: packed(server_folder, members), server_folder
    )


def test_a_link_that_leads_outside_is_refused(server_folder: Path) -> None:
    path = server_folder / "thing.tgz"
    with tarfile.open(path, "w:gz") as tar:
        link = tarfile.TarInfo("package/server/share/out")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    line = refused(lambda: install_from("npm", path, server_folder), server_folder)
    assert "its link out points outside of the archive, to /etc/passwd" in line


def test_a_damaged_archive_names_the_file(server_folder: Path) -> None:
    path = archive(server_folder, GOOD)
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[-8] ^= 1  # of the checksum, behind all members
    for content in (b"", whole[:10], whole[: len(whole) // 2], whole[:-4], bytes(changed)):
        path.write_bytes(content)
        line = refused(lambda: install_from("npm", path, server_folder), server_folder)
        assert line.startswith(f"{path} is damaged (")


def test_a_package_of_something_else(server_folder: Path) -> None:
    line = refused(lambda: packed(server_folder, {"package/index.js": b"x"}), server_folder)
    assert line == "the downloaded archive has no mysqld, so it is not a release of MySQL"


def test_a_program_that_does_not_run_leaves_no_build(server_folder: Path) -> None:
    members = {**GOOD, "package/server/mysqld": b"#!/bin/sh\necho 'cannot' >&2\nexit 3\n"}
    line = refused(lambda: packed(server_folder, members), server_folder)
    assert line == "mysqld does not run on this machine (cannot); leave this release out"


def test_a_release_without_its_script_is_one_line(server_folder: Path, account: Account) -> None:
    members = {name: text for name, text in GOOD.items() if not name.endswith(".sql")}
    build = packed(server_folder, members)
    with pytest.raises(UserError, match="delete this folder and run again"):
        datadir.fill(build, account, server_folder / "beside" / "data")


CONTROL = """\
Package: {name}
Version: 1
Architecture: all
Maintainer: x <x@example.org>
Description: a thing
"""


def debs(folder: Path, packages: Mapping[str, Mapping[str, Path | bytes]]) -> Path:
    """A folder of packages with these files."""
    made = folder / "debs"
    made.mkdir()
    for name, files in packages.items():
        tree = folder / "tree"
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "DEBIAN/control").write_text(CONTROL.format(name=name))
        for path, content in files.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                (tree / path).write_bytes(content)
            else:
                shutil.copy(content, tree / path)
        build = ["dpkg-deb", "--root-owner-group", "--build", str(tree), str(made / f"{name}.deb")]
        subprocess.run(build, check=True, capture_output=True)
        shutil.rmtree(tree)
    return made


@pytest.fixture
def server_package() -> Mapping[str, Path | bytes]:
    """A program of this machine as if it were the server: it has a version, and libraries."""
    program = shutil.which("sort")
    if program is None or shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb, which makes packages, is not here")
    return {
        "usr/sbin/mysqld": Path(program),
        "usr/bin/myisamchk": b"another program",
        "usr/share/mysql/english/errmsg.sys": b"messages",
        "usr/share/doc/copyright": b"x",
    }


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the loader is named for x86-64")
def test_debians_packages_become_a_build_with_their_own_libraries(
    server_folder: Path, server_package: Mapping[str, Path | bytes]
) -> None:
    here = Path("/lib/x86_64-linux-gnu")
    ldd = subprocess.run(
        ["ldd", str(server_package["usr/sbin/mysqld"])], capture_output=True, text=True, check=True
    )
    names = {Path(word).name for word in ldd.stdout.split() if ".so" in word} - {"linux-vdso.so.1"}
    libraries = {f"usr/lib/x86_64-linux-gnu/{name}": here / name for name in sorted(names)}
    path = debs(
        server_folder,
        {
            "server": server_package,
            "libraries": {**libraries, "usr/lib/x.py": b"x", "usr/lib/a/b/x.so": b"x"},
        },
    )
    build = install_from("debian", path, server_folder)
    assert files_of(build.home) == {
        "usr/sbin/mysqld",
        "usr/share/mysql/english/errmsg.sys",
        *libraries,
    }
    assert "coreutils" in build.provenance.reported_version
    assert install.command(build.home)[0] == str(
        build.home / "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
    )
    command = datadir.server_command(build, server_folder / "data")
    assert f"--basedir={build.home}/usr" in command
    assert f"--lc-messages-dir={build.home}/usr/share/mysql" in command


def test_packages_without_a_c_library_are_refused(
    server_folder: Path, server_package: Mapping[str, Path | bytes]
) -> None:
    path = debs(server_folder, {"server": server_package})
    line = refused(lambda: install_from("debian", path, server_folder), server_folder)
    assert "holds no C library" in line


def test_packages_without_a_server_are_refused(
    server_folder: Path, server_package: Mapping[str, Path | bytes]
) -> None:
    path = debs(server_folder, {"other": {"usr/bin/mysql": b"x"}})
    line = refused(lambda: install_from("debian", path, server_folder), server_folder)
    assert "has no mysqld" in line


def test_a_damaged_package_is_named(
    server_folder: Path, server_package: Mapping[str, Path | bytes]
) -> None:
    path = debs(server_folder, {"server": server_package})
    deb = path / "server.deb"
    deb.write_bytes(deb.read_bytes()[:-1000])
    line = refused(lambda: install_from("debian", path, server_folder), server_folder)
    assert line.startswith(f"{path} is damaged (")
