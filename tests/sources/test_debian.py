"""Debian as a source: the real apt, on archives that the tests make and sign themselves."""

from __future__ import annotations

import gzip
import hashlib
import logging
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from pipeline.sources.debian import DebianPackages, DebianTarballs
from pipeline.sources.debian.apt import archives
from pipeline.sources.debian.suites import SUMS
from pipeline.text.errors import UserError
from tests.ports import free_port

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("apt-get", "dpkg-deb", "gpg")),
    reason="apt-get, dpkg-deb and gpg are not all here",
)

CONTENT = "thing\n" * 1000


class Keys:
    """A pair of keys: archives are signed with it, and sources are given its public half."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        self._folder = folder
        self.keyring = folder.with_suffix(".gpg")
        # gpg gives an agent that it starts itself a few seconds only.
        subprocess.run(
            ["gpg-agent", "--homedir", str(folder), "--daemon"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        self.gpg("--quick-generate-key", "archive@example.org", "ed25519", "sign", "never")
        self.keyring.write_bytes(self.gpg("--export"))

    def gpg(self, *arguments: str) -> bytes:
        return subprocess.run(
            ["gpg", "--homedir", str(self._folder), "--batch", "--passphrase", "", *arguments],
            check=True,
            capture_output=True,
        ).stdout

    def close(self) -> None:
        subprocess.run(
            ["gpgconf", "--homedir", str(self._folder), "--kill", "gpg-agent"], check=True
        )


class Archive:
    """An archive in a folder; its suites are published anew after every change."""

    def __init__(self, folder: Path, keys: Keys) -> None:
        self.folder = folder
        self.keys = keys
        self._packages: dict[str, dict[str, str]] = {}
        self._sources: dict[str, dict[str, str]] = {}

    @property
    def address(self) -> str:
        # apt downloads from here as it would from afar, where "file:" would use files in place.
        return f"copy:{self.folder}"

    def add(
        self, suite: str, name: str, version: str, depends: str = "", content: str = CONTENT
    ) -> Path:
        """Make a package of one program and put it into a suite."""
        tree = self.folder / "tree"
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "usr/bin").mkdir(parents=True)
        (tree / f"usr/bin/{name}").write_text(content)
        fields = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: x <x@y>\n"
        fields += f"Depends: {depends}\n" if depends else ""
        (tree / "DEBIAN/control").write_text(f"{fields}Description: a thing\n")
        path = self.folder / "pool" / f"{name}_{version.replace(':', '')}_all.deb"
        path.parent.mkdir(exist_ok=True)
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "--build", str(tree), str(path)],
            check=True,
            capture_output=True,
        )
        shutil.rmtree(tree)
        place = f"Filename: pool/{path.name}\nSize: {path.stat().st_size}\nSHA256: {_sum(path)}\n"
        self._packages.setdefault(suite, {})[name] = f"{fields}{place}Description: a thing\n"
        self.publish(suite)
        return path

    def add_source(self, suite: str, name: str, version: str, *, native: bool = False) -> Path:
        """Put a source package into a suite and return the tar of its authors."""
        kinds = (".tar.xz", ".dsc") if native else (".orig.tar.gz", "-1.debian.tar.xz", "-1.dsc")
        (self.folder / "pool").mkdir(exist_ok=True)
        paths = [self.folder / "pool" / f"{name}_{version}{kind}" for kind in kinds]
        for path in paths:
            path.write_text(path.name * 100)
        full = version if native else f"{version}-1"
        listed = (f" {_sum(path)} {path.stat().st_size} {path.name}\n" for path in paths)
        self._sources.setdefault(suite, {})[name] = (
            f"Package: {name}\nBinary: {name}\nVersion: {full}\nFormat: 3.0 (quilt)\n"
            f"Directory: pool\nChecksums-Sha256:\n{''.join(listed)}"
        )
        self.publish(suite)
        return paths[0]

    def drop(self, suite: str, name: str) -> None:
        """Take a package out of a suite, and its file out of the archive."""
        fields = self._packages[suite].pop(name)
        (self.folder / fields.partition("Filename: ")[2].partition("\n")[0]).unlink()
        self.publish(suite)

    def publish(self, suite: str) -> None:
        """Write and sign the lists of a suite."""
        top = self.folder / "dists" / suite
        lists = {
            f"main/binary-{_architecture()}/Packages": "\n".join(
                self._packages.get(suite, {}).values()
            ),
            "main/source/Sources": "\n".join(self._sources.get(suite, {}).values()),
        }
        sums = ""
        for name, text in lists.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            for path, data in (
                (top / name, text.encode()),
                (top / f"{name}.gz", gzip.compress(text.encode())),
            ):
                path.write_bytes(data)
                sums += f" {_sum(path)} {len(data)} {path.relative_to(top)}\n"
        (top / "Release").write_text(
            f"Origin: Example\nSuite: {suite}\nCodename: {suite}\nComponents: main\n"
            f"Architectures: {_architecture()}\nDate: Sat, 01 Feb 2025 10:00:00 UTC\n"
            f"SHA256:\n{sums}"
        )
        signed = self.keys.gpg("--output", "-", "--clearsign", str(top / "Release"))
        (top / "InRelease").write_bytes(signed)


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _architecture() -> str:
    asked = ["dpkg", "--print-architecture"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def keys(server_root: Path) -> Iterator[Keys]:
    made = Keys(server_root / "keys")
    yield made
    made.close()


@pytest.fixture
def archive(server_folder: Path, keys: Keys) -> Archive:
    """An archive with a program in two suites, each with a library that it needs."""
    folder = server_folder / "archive"
    folder.mkdir()
    made = Archive(folder, keys)
    for suite, version in (("old", "1.0-1"), ("new", "2:2.0~rc1-1+b1")):
        made.add(suite, "libthing", version)
        made.add(suite, "thing", version, depends=f"libthing (= {version})")
        made.add(suite, "other", version)
    return made


@pytest.fixture
def cache(server_folder: Path) -> Path:
    return server_folder / "cache"


Make = Callable[..., DebianPackages]


@pytest.fixture
def make(archive: Archive, cache: Path) -> Make:
    def source(coordinates: str = "thing@old new", **changed: object) -> DebianPackages:
        return DebianPackages(
            coordinates,
            cache,
            **{"addresses": [archive.address], "keyring": archive.keys.keyring, **changed},  # type: ignore[arg-type]
        )

    return source


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.endswith(".lock")}


def one_line(error: pytest.ExceptionInfo[UserError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert "copy:" not in text, "a message is for reading, not an address"
    return text


def test_versions_are_those_of_every_suite(make: Make) -> None:
    assert make().versions() == ("old/1.0-1", "new/2:2.0~rc1-1+b1")
    assert make("thing@new").versions() == ("new/2:2.0~rc1-1+b1",)


def test_names_may_be_patterns(make: Make, archive: Archive) -> None:
    archive.add("old", "thing-2", "2-1")
    archive.add("old", "thing-3", "3-1")
    assert make("thing-*@old").versions() == ("old/2-1", "old/3-1")
    assert make("thing-3 thing@old").versions() == ("old/3-1", "old/1.0-1")


def test_a_version_is_had_with_all_that_it_needs(make: Make, cache: Path) -> None:
    fetched = make().fetch("new/2:2.0~rc1-1+b1", cache / "downloads")
    names = {path.name for path in fetched.path.iterdir()} - {SUMS}
    assert {name.partition("_")[0] for name in names} == {"thing", "libthing"}
    assert all(name.endswith(".deb") for name in names)
    subprocess.run(["sha256sum", "--check", "--strict", SUMS], cwd=fetched.path, check=True)
    assert left_in(cache / "downloads") == {fetched.path.name}
    assert fetched.locator == "new/2:2.0~rc1-1+b1"
    other = make().fetch("old/1.0-1", cache / "downloads")
    assert other.path != fetched.path and other.sha256 != fetched.sha256


def test_what_identifies_a_folder_is_what_is_in_it(
    make: Make, archive: Archive, cache: Path
) -> None:
    first = make().fetch("old/1.0-1", cache / "a").sha256
    assert make().fetch("old/1.0-1", cache / "b").sha256 == first
    archive.add("old", "libthing", "1.0-1", content="another library of the same version")
    make().versions()
    assert make().fetch("old/1.0-1", cache / "c").sha256 != first


def test_a_cached_version_needs_no_archive(make: Make, archive: Archive, cache: Path) -> None:
    first = make().fetch("old/1.0-1", cache)
    shutil.rmtree(archive.folder)
    assert make().fetch("old/1.0-1", cache) == first


@pytest.mark.parametrize("damage", ["file", "sums", "lost sums", "lost file", "another file"])
def test_a_damaged_cache_is_downloaded_anew(
    make: Make, cache: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    first = make().fetch("old/1.0-1", cache)
    package = next(first.path.glob("thing*"))
    if damage == "file":
        package.write_bytes(package.read_bytes()[:-1] + b"?")
    elif damage == "sums":
        (first.path / SUMS).write_bytes(b"\xff\xfe nonsense")
    elif damage == "another file":
        (first.path / "more.deb").touch()
    else:
        (package if damage == "lost file" else first.path / SUMS).unlink()
    with caplog.at_level(logging.WARNING):
        assert make().fetch("old/1.0-1", cache) == first
    assert caplog.messages == [f"{first.path} is damaged; downloading it again"]
    assert make().fetch("old/1.0-1", cache) == first


def test_what_a_killed_download_left_is_no_hindrance(make: Make, cache: Path) -> None:
    whole = make().fetch("old/1.0-1", cache)
    part = whole.path.with_name(f".{whole.path.name}.part")
    whole.path.rename(part)
    next(part.glob("thing*")).write_bytes(b"half")
    assert make().fetch("old/1.0-1", cache) == whole
    assert not part.exists()


@pytest.mark.parametrize("fault", ["truncated", "flipped", "missing"])
def test_a_bad_package_is_refused_and_leaves_nothing(
    make: Make, archive: Archive, cache: Path, fault: str
) -> None:
    path = next((archive.folder / "pool").glob("libthing_1*"))
    whole = path.read_bytes()
    if fault == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif fault == "flipped":
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    else:
        path.unlink()
    with pytest.raises(UserError) as error:
        make().fetch("old/1.0-1", cache / "downloads")
    reported = {"missing": "it does not exist"}.get(fault, "its response is damaged")
    assert reported in one_line(error)
    assert left_in(cache / "downloads") == set()
    path.write_bytes(whole)
    assert make().fetch("old/1.0-1", cache / "downloads").path.is_dir()


def test_a_list_that_was_changed_is_refused(make: Make, archive: Archive, cache: Path) -> None:
    for name in ("Packages", "Packages.gz"):
        path = archive.folder / f"dists/old/main/binary-{_architecture()}" / name
        path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(UserError, match="its response is damaged"):
        make("thing@old").versions()


def test_a_release_that_was_changed_is_refused(make: Make, archive: Archive) -> None:
    path = archive.folder / "dists/old/InRelease"
    path.write_text(path.read_text().replace("Origin: Example", "Origin: Elsewhere"))
    with pytest.raises(UserError) as error:
        make("thing@old").versions()
    assert "its response is damaged" in one_line(error)


def test_a_key_that_is_not_here_is_one_line(
    make: Make, archive: Archive, server_folder: Path
) -> None:
    with stranger(server_folder / "stranger") as keys, pytest.raises(UserError) as error:
        make("thing@old", keyring=keys.keyring).versions()
    assert (
        "its signing key is missing: install or update the package debian-archive-keyring"
        in one_line(error)
    )
    assert "debian-archive-keyring" in one_line(error)


@contextmanager
def stranger(folder: Path) -> Iterator[Keys]:
    keys = Keys(folder)
    try:
        yield keys
    finally:
        keys.close()


def test_one_suite_out_of_reach_is_reported_and_left_out(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert make("thing@ancient new").versions() == ("new/2:2.0~rc1-1+b1",)
    assert caplog.messages == [
        "ancient of Debian is unavailable (it does not exist); continuing without it"
    ]


def test_all_out_of_reach_is_an_error(make: Make) -> None:
    with pytest.raises(UserError) as error:
        make("thing@ancient lost").versions()
    assert one_line(error) == "ancient of Debian is unavailable (it does not exist)"


def test_nobody_listening_is_one_line(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(UserError) as error:
        make("thing@old", addresses=[f"http://127.0.0.1:{free_port()}/debian"]).versions()
    assert one_line(error) == "old of Debian is unavailable (no connection)"


def test_old_lists_serve_where_a_suite_cannot_be_asked(
    make: Make, archive: Archive, caplog: pytest.LogCaptureFixture
) -> None:
    before = make().versions()
    shutil.rmtree(archive.folder / "dists/old")
    with caplog.at_level(logging.WARNING):
        assert make().versions() == before
    assert caplog.messages == [
        "old of Debian cannot be queried (it does not exist); continuing with its older "
        "package lists"
    ]


def test_a_package_that_no_suite_has_is_one_line(make: Make) -> None:
    with pytest.raises(UserError) as error:
        make("nothing@old new").versions()
    assert one_line(error) == "Debian has no nothing in old new"


def test_the_archive_that_has_the_suite_is_asked(
    make: Make, archive: Archive, server_folder: Path
) -> None:
    addresses = [f"copy:{server_folder}/elsewhere", archive.address]
    assert make(addresses=addresses).versions() == make().versions()


def test_a_version_that_the_suite_has_no_more_is_one_line(
    make: Make, archive: Archive, cache: Path
) -> None:
    make().versions()
    archive.drop("old", "thing")
    archive.add("old", "thing", "1.1-1")
    with pytest.raises(UserError) as error:
        make().fetch("old/1.0-1", cache)
    assert "old no longer has this version" in one_line(error)
    assert "discover --refresh" in one_line(error)
    assert make().fetch("old/1.1-1", cache).path.is_dir()


def test_what_it_needs_has_moved_on_since_the_lists_were_had(
    make: Make, archive: Archive, cache: Path
) -> None:
    archive.add("old", "free", "1-1", depends="libfree")
    archive.add("old", "libfree", "1-1")
    make("free@old").versions()
    archive.drop("old", "libfree")
    archive.add("old", "libfree", "2-1")
    fetched = make("free@old").fetch("old/1-1", cache)
    assert (fetched.path / "libfree_2-1_all.deb").exists()


@pytest.mark.parametrize("version", ["../old/1", "old/../x", "older/1", "old/", "1.0", "old/1 2"])
def test_a_version_that_is_none_is_refused(make: Make, cache: Path, version: str) -> None:
    with pytest.raises(UserError, match="is not a version"):
        make().fetch(version, cache)
    assert not cache.exists()


def test_two_at_once_download_once(make: Make, cache: Path) -> None:
    fetched = []
    threads = [
        threading.Thread(target=lambda: fetched.append(make().fetch("old/1.0-1", cache)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fetched) == 4
    assert all(each == fetched[0] for each in fetched)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
def test_a_full_disk_is_one_line_and_leaves_nothing(
    make: Make, archive: Archive, server_folder: Path
) -> None:
    archive.add("old", "large", "1-1", content=Random(1).randbytes(1 << 20).hex())
    disk = server_folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        with pytest.raises(UserError) as error:
            make("large@old").fetch("old/1-1", disk)
        assert "no space left" in one_line(error)
        assert left_in(disk) == set()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_cache_that_cannot_be_a_folder_is_one_line(make: Make, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError) as error:
        make().fetch("old/1.0-1", tmp_path / "file" / "cache")
    assert "set paths.cache" in one_line(error)


def test_source_code_is_the_tar_of_its_authors(archive: Archive, cache: Path) -> None:
    tar = archive.add_source("old", "thing-13", "13.1")
    archive.add_source("old", "thing-15", "15.2")
    archive.add_source("new", "thing-15", "15.3")
    archive.add_source("new", "thing-16", "16.1", native=True)
    source = DebianTarballs(
        "thing-13 thing-15 thing-16 thing-17@old new",
        cache,
        addresses=[archive.address],
        keyring=archive.keys.keyring,
    )
    assert source.versions() == ("old/13.1-1", "old/15.2-1", "new/15.3-1")
    fetched = source.fetch("old/13.1-1", cache / "downloads")
    assert fetched.path.name == tar.name
    assert fetched.path.read_bytes() == tar.read_bytes()
    assert fetched.sha256 == _sum(tar)
    assert left_in(fetched.path.parent) == {tar.name, SUMS}
    assert source.fetch("old/13.1-1", cache / "downloads") == fetched


# --- the real one ---------------------------------------------------------------------


def test_a_real_suite_that_is_not_this_machines_own(tmp_path: Path) -> None:
    source = DebianPackages("rocksdb-tools@trixie", tmp_path)
    try:
        assert archives()
        (version,) = source.versions()
        fetched = source.fetch(version, tmp_path / "downloads")
    except UserError as error:
        pytest.skip(str(error))
    assert version.startswith("trixie/9.")
    names = {path.name.partition("_")[0] for path in fetched.path.glob("*.deb")}
    assert {"rocksdb-tools", "libc6", "libstdc++6", "librocksdb9.10"} <= names
