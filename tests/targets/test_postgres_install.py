from __future__ import annotations

import io
import lzma
import os
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from pipeline.machine.account import Account
from pipeline.measure.build import install
from pipeline.model import Provenance, Revision
from pipeline.sources.base import Fetched
from pipeline.targets.base.programs import why_not
from pipeline.text.errors import UserError

REVISION = Revision(target="postgres", version="17.1", order=(17, 1), major="17")
PROVENANCE = Provenance(source="s", locator="l", sha256="ab" * 32, options="official")
PROGRAM = b"#!/bin/sh\necho 'postgres (PostgreSQL) 17.1'\n"
Member = tuple[str, bytes | None, str]
"""Name, content (None for what has none) and kind (file, folder, link, device, hard)."""
GOOD: tuple[Member, ...] = (
    ("bin", None, "folder"),
    ("bin/postgres", PROGRAM, "program"),
    ("lib/libpq.so.5.17", b"elf", "file"),
    ("lib/libpq.so", b"libpq.so.5.17", "link"),
    ("share/postgresql/x.sql", b"select 1", "file"),
)
KINDS = {
    "folder": tarfile.DIRTYPE,
    "link": tarfile.SYMTYPE,
    "hard": tarfile.LNKTYPE,
    "device": tarfile.CHRTYPE,
}


def tar_xz(members: Iterable[Member]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as tar:
        for name, content, kind in members:
            info = tarfile.TarInfo(name)
            info.type = KINDS.get(kind, tarfile.REGTYPE)
            # Modes as careless as an archive may have them.
            info.mode = 0o700 if kind == "program" else 0o600
            data = content or b""
            if kind in ("link", "hard"):
                info.linkname, data = data.decode(), b""
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def archive(folder: Path, inner: bytes, name: str = "postgres-linux-x86_64.txz") -> Fetched:
    path = folder / "thing.jar"
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "")
        jar.writestr(name, inner)
    return Fetched(path=path, locator="org.example:thing:1", sha256="ab" * 32)


def refused(fetched: Fetched, home: Path) -> str:
    """Install what must be refused: one line, nothing left. Return the line."""
    before = set(home.parent.parent.rglob("*"))
    with pytest.raises(UserError) as error:
        install(REVISION, fetched, home, PROVENANCE)
    assert "\n" not in str(error.value)
    left = set(home.parent.parent.rglob("*")) - before - {home.parent}
    assert left == set()
    return str(error.value)


def test_an_archive_becomes_a_build_that_everyone_can_run(server_folder: Path) -> None:
    home = server_folder / "builds" / "17.1"
    home.parent.mkdir()
    before = os.umask(0o077)
    try:
        build = install(REVISION, archive(server_folder, tar_xz(GOOD)), home, PROVENANCE)
    finally:
        os.umask(before)
    assert build.home == home
    assert build.provenance.reported_version == "postgres (PostgreSQL) 17.1"
    assert build.provenance.sha256 == PROVENANCE.sha256
    modes = {path.name: path.stat().st_mode & 0o777 for path in home.rglob("*")}
    assert modes["bin"] == modes["share"] == modes["postgres"] == 0o755
    assert modes["x.sql"] == 0o644
    assert (home / "lib/libpq.so").resolve() == (home / "lib/libpq.so.5.17").resolve()
    assert [path.name for path in home.parent.iterdir()] == ["17.1"]


def test_the_hash_is_over_the_program_files(server_folder: Path) -> None:
    def hash_of(name: str, members: Iterable[Member]) -> str:
        folder = server_folder / name
        folder.mkdir()
        fetched = archive(folder, tar_xz(members))
        return install(REVISION, fetched, folder / "home", PROVENANCE).hash

    same = hash_of("a", GOOD)
    assert hash_of("b", reversed(GOOD[1:])) == same
    assert hash_of("c", [*GOOD[:-1], ("share/postgresql/x.sql", b"select 2", "file")]) == same
    changed = ("lib/libpq.so.5.17", b"ELF", "file")
    assert hash_of("d", [*GOOD[:2], changed, *GOOD[3:]]) != same
    renamed = ("lib/libpq.so.5", b"libpq.so.5.17", "link")
    assert hash_of("e", [*GOOD[:3], renamed, GOOD[4]]) != same


@pytest.mark.parametrize(
    ("member", "complaint"),
    [
        (("../out", b"x", "file"), "outside of the archive"),
        (("/out", b"x", "file"), "outside of the archive"),
        (("bin/../../out", b"x", "file"), "outside of the archive"),
        (("lib/out", b"/etc/passwd", "link"), "outside of the archive"),
        (("lib/out", b"../../out", "link"), "outside of the archive"),
        (("lib/out", b"../out", "hard"), "outside of the archive"),
        (("dev", None, "device"), "neither"),
    ],
)
def test_members_that_lead_outside_are_refused(
    server_folder: Path, member: Member, complaint: str
) -> None:
    fetched = archive(server_folder, tar_xz([*GOOD, member]))
    line = refused(fetched, server_folder / "builds" / "17.1")
    assert complaint in line
    assert f"{fetched.path} is damaged" in line
    assert line.endswith("delete it and run again")


def test_nothing_is_written_through_a_link(server_folder: Path) -> None:
    outside = server_folder / "outside"
    outside.mkdir()
    members: list[Member] = [
        ("lib/there", str(outside).encode(), "link"),
        ("lib/there/out", b"x", "file"),
    ]
    fetched = archive(server_folder, tar_xz(members))
    assert "damaged" in refused(fetched, server_folder / "builds" / "17.1")
    assert list(outside.iterdir()) == []


def test_a_truncated_archive_names_the_file(server_folder: Path) -> None:
    fetched = archive(server_folder, tar_xz(GOOD))
    whole = fetched.path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 30):
        fetched.path.write_bytes(whole[:size])
        line = refused(fetched, server_folder / "builds" / "17.1")
        assert line.startswith(f"{fetched.path} is damaged")


@pytest.mark.parametrize(
    "inner",
    [b"", b"no xz", tar_xz(GOOD)[:150], tar_xz(GOOD)[:40], lzma.compress(b"no tar" * 1000)],
)
def test_a_damaged_inner_archive_names_the_file(server_folder: Path, inner: bytes) -> None:
    fetched = archive(server_folder, inner)
    line = refused(fetched, server_folder / "builds" / "17.1")
    assert line.startswith(f"{fetched.path} is damaged") or "no release of Postgres" in line


def test_a_flipped_bit_is_found(server_folder: Path) -> None:
    fetched = archive(server_folder, tar_xz(GOOD))
    content = bytearray(fetched.path.read_bytes())
    content[len(content) // 2] ^= 1
    fetched.path.write_bytes(content)
    assert "is damaged" in refused(fetched, server_folder / "builds" / "17.1")


def test_a_jar_of_something_else(server_folder: Path) -> None:
    fetched = archive(server_folder, b"x", name="Main.class")
    assert "holds 0 .txz files" in refused(fetched, server_folder / "builds" / "17.1")
    fetched = archive(server_folder, tar_xz(GOOD[2:]))
    assert "no bin/postgres" in refused(fetched, server_folder / "builds" / "17.1")


def test_a_program_that_does_not_run_leaves_no_build(server_folder: Path) -> None:
    program = b"#!/bin/sh\necho 'cannot' >&2\nexit 3\n"
    members = [GOOD[0], ("bin/postgres", program, "program"), *GOOD[2:]]
    fetched = archive(server_folder, tar_xz(members))
    line = refused(fetched, server_folder / "builds" / "17.1")
    assert line == "postgres does not run on this machine (cannot); leave this release out"


def test_a_missing_library_is_named() -> None:
    line = why_not(
        Path("/x/bin/postgres"),
        127,
        "/x/bin/postgres: error while loading shared libraries: libssl.so.1.0.0: cannot open "
        "shared object file: No such file or directory\n",
    )
    assert line.startswith(
        "postgres needs the library libssl.so.1.0.0, which is not installed; install its "
        "package and run again"
    )
    line = why_not(
        Path("/x/bin/postgres"),
        1,
        "/x/bin/postgres: /lib/libc.so.6: version `GLIBC_2.99' not found (required by ...)\n",
    )
    assert line.startswith("postgres needs GLIBC_2.99, which is newer than this system's")


def test_a_build_that_the_account_cannot_reach(tmp_path: Path, account: Account) -> None:
    if not account.switch:
        pytest.skip("the servers run as ourselves")
    tmp_path.chmod(0o700)
    fetched = archive(tmp_path, tar_xz(GOOD))
    line = refused(fetched, tmp_path / "builds" / "17.1")
    assert "cannot enter the folder" in line
