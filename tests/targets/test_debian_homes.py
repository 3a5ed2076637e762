"""Folders of Debian packages become homes whose programs run, whatever the suite."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from pipeline.targets.base.archives import deb_members, unpacked
from pipeline.targets.base.loader import loaded
from pipeline.text.errors import UserError

pytestmark = pytest.mark.skipif(
    shutil.which("dpkg-deb") is None, reason="dpkg-deb, which makes packages, is not here"
)

CONTROL = """\
Package: {name}
Version: 1
Architecture: all
Maintainer: x <x@example.org>
Description: a thing
"""


def package(folder: Path, name: str, fill: Callable[[Path], None]) -> Path:
    """Make a package of what ``fill`` puts into a folder."""
    tree = folder / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(CONTROL.format(name=name))
    fill(tree)
    debs = folder / "debs"
    debs.mkdir(exist_ok=True)
    build = ["dpkg-deb", "--root-owner-group", "--build", str(tree), str(debs / f"{name}.deb")]
    subprocess.run(build, check=True, capture_output=True)
    shutil.rmtree(tree)
    return debs


def unpack(debs: Path) -> Path:
    home = debs.parent / "home"
    with unpacked(debs, home, lambda path: deb_members(path, ("usr/bin", "usr/lib", "usr/lib64"))):
        pass
    return home


def files_of(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if not path.is_dir()}


def test_packages_share_a_home_and_what_is_not_asked_for_is_left_out(tmp_path: Path) -> None:
    def program(tree: Path) -> None:
        (tree / "usr/bin").mkdir(parents=True)
        (tree / "usr/bin/thing").write_text("x")
        (tree / "usr/bin/thing").chmod(0o4755)
        (tree / "etc").mkdir()
        (tree / "etc/thing.conf").write_text("x")

    def library(tree: Path) -> None:
        (tree / "lib/here").mkdir(parents=True)
        (tree / "lib/here/libthing.so.1").write_text("y")
        (tree / "usr/share/doc").mkdir(parents=True)
        (tree / "usr/share/doc/copyright").write_text("x")

    package(tmp_path, "thing", program)
    home = unpack(package(tmp_path, "libthing", library))
    assert files_of(home) == {"usr/bin/thing", "usr/lib/here/libthing.so.1"}
    assert (home / "usr/bin/thing").stat().st_mode & 0o7777 == 0o755


def test_links_lead_to_where_they_would_on_a_system(tmp_path: Path) -> None:
    def fill(tree: Path) -> None:
        (tree / "lib/here").mkdir(parents=True)
        (tree / "lib64").mkdir()
        (tree / "usr/lib/here").mkdir(parents=True)
        (tree / "lib/here/real-1.0").write_text("real")
        (tree / "lib/here/near").symlink_to("real-1.0")
        (tree / "lib64/loader").symlink_to("/lib/here/real-1.0")
        (tree / "usr/lib/here/across").symlink_to("../../../lib/here/real-1.0")
        (tree / "usr/lib/here/back").symlink_to("/usr/lib/here/across")
        os.link(tree / "lib/here/real-1.0", tree / "usr/lib/here/zz-same")

    home = unpack(package(tmp_path, "links", fill))
    links = [path for path in home.rglob("*") if path.is_symlink()]
    assert len(links) == 5
    for path in links:
        assert path.read_text() == "real"
        assert not path.readlink().is_absolute()


@pytest.mark.parametrize("to", ["../../../../outside", "/../../outside"])
def test_a_link_above_the_root_ends_at_the_root_as_on_a_system(tmp_path: Path, to: str) -> None:
    def fill(tree: Path) -> None:
        (tree / "usr/bin").mkdir(parents=True)
        (tree / "usr/bin/out").symlink_to(to)

    home = unpack(package(tmp_path, "out", fill))
    assert (home / "usr/bin/out").resolve() == home / "outside"


@pytest.mark.parametrize("left", [0, 100, -200])
def test_a_damaged_package_leaves_no_home(tmp_path: Path, left: int) -> None:
    def fill(tree: Path) -> None:
        (tree / "usr/bin").mkdir(parents=True)
        (tree / "usr/bin/thing").write_bytes(Random(1).randbytes(100_000))

    debs = package(tmp_path, "thing", fill)
    whole = (debs / "thing.deb").read_bytes()
    (debs / "thing.deb").write_bytes(whole[:left])
    with pytest.raises(UserError, match="is damaged"):
        unpack(debs)
    assert not (tmp_path / "home").exists()


def test_a_program_is_run_by_the_c_library_of_its_home(tmp_path: Path) -> None:
    """The machine's own echo, with the libraries and the loader it needs, somewhere else."""
    needed = subprocess.run(["ldd", "/bin/echo"], check=True, capture_output=True, text=True).stdout
    found = [Path(word) for word in needed.split() if word.startswith("/")]
    folder = next(path.parent for path in found if path.name.startswith("libc.so"))
    home = tmp_path / "home"
    libraries = home / "usr/lib" / folder.name
    libraries.mkdir(parents=True)
    (home / "usr/bin").mkdir()
    program = home / "usr/bin/echo"
    shutil.copy("/bin/echo", program)
    for path in found:
        shutil.copy(path, libraries / path.name)
    command = loaded(home, program, ("usr/lib/more",))
    assert command[0].startswith(str(libraries))
    assert f"{home}/usr/lib/more" in command[-2]
    shown = subprocess.run([*command, "said"], check=True, capture_output=True, text=True)
    assert shown.stdout == "said\n"


def test_a_home_without_a_c_library_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no C library"):
        loaded(tmp_path, tmp_path / "usr/bin/thing")
