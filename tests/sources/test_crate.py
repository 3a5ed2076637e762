"""The crates of a registry on loopback, had by the real cargo."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pipeline.sources.crate import CrateSource
from pipeline.text.errors import UserError
from tests.ports import free_port

INDEX = "/th/in/thing"
DEADLINE = 300.0

pytestmark = pytest.mark.skipif(
    shutil.which("cargo") is None, reason="cargo is not installed; tools/setup installs it"
)


def crate(version: str) -> bytes:
    """A .crate as cargo packs it, larger than a network packet."""
    files = {
        "Cargo.toml": f'[package]\nname = "thing"\nversion = "{version}"\n'.encode(),
        "src/lib.rs": b"",
        "data": Random(1).randbytes(100_000),
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"thing-{version}/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


class Registry(ThreadingHTTPServer):
    """A registry on loopback: crates by version, and faults by path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.crates = {version: crate(version) for version in ("1.2.0", "1.10.0+x3", "1.3.0")}
        self.yanked = {"1.3.0"}
        self.faults: dict[str, str] = {}
        self.asked: list[str] = []
        self.stalled = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def body(self, path: str) -> bytes | None:
        if path == "/config.json":
            return json.dumps({"dl": f"{self.address}/{{version}}"}).encode()
        if path == INDEX:
            return "".join(map(self._line, self.crates)).encode()
        return self.crates.get(path[1:])

    def _line(self, version: str) -> str:
        entry = {
            "name": "thing",
            "vers": version,
            "deps": [],
            "cksum": hashlib.sha256(self.crates[version]).hexdigest(),
            "features": {},
            "yanked": version in self.yanked,
        }
        return json.dumps(entry) + "\n"


class _Handler(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        registry = self.server
        registry.asked.append(self.path)
        fault, body = registry.faults.get(self.path, ""), registry.body(self.path)
        if fault.isdigit() or body is None:
            self.send_error(int(fault or 404))
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault in ("truncated", "stalled"):
            body = body[: len(body) // 2]
        elif fault == "flipped":
            body = body[:-1] + bytes([body[-1] ^ 1])
        self.wfile.write(body)
        if fault == "stalled":
            registry.stalled.set()
            self.rfile.read()

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


def settings(folder: Path, address: str) -> None:
    """Write settings of cargo by which ``address`` stands for the usual registry."""
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "ours"\n'
        f'[source.ours]\nregistry = "sparse+{address}/"\n'
        "[net]\nretry = 0\n"
    )


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    with Registry() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        settings(tmp_path / "usual", server.address)
        monkeypatch.setenv("CARGO_HOME", str(tmp_path / "usual"))
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def source(registry: Registry, cache: Path) -> CrateSource:
    return CrateSource("thing", cache)


def put_cargo(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program called cargo before the real one."""
    folder.mkdir()
    (folder / "cargo").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "cargo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def left_in(folder: Path) -> set[str]:
    found = folder.iterdir() if folder.exists() else ()
    return {path.name for path in found if not path.name.endswith(".lock")}


def one_line(error: pytest.ExceptionInfo[UserError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert "://" not in text, "a message is for reading, not an address"
    return text


def test_versions_come_in_their_order_without_those_withdrawn(
    source: CrateSource, cache: Path
) -> None:
    assert source.versions() == ("1.2.0", "1.10.0+x3")
    assert left_in(cache / "cargo") == set()


def test_a_new_version_is_seen_at_once(source: CrateSource, registry: Registry) -> None:
    source.versions()
    registry.crates["2.0.0"] = crate("2.0.0")
    assert source.versions()[-1] == "2.0.0"


@pytest.mark.parametrize("version", ["1.2.0", "1.10.0+x3"])
def test_a_fetched_crate_is_whole_and_says_where_it_came_from(
    source: CrateSource, registry: Registry, cache: Path, version: str
) -> None:
    fetched = source.fetch(version, cache / "new")
    assert fetched.path.read_bytes() == registry.crates[version]
    assert fetched.sha256 == hashlib.sha256(registry.crates[version]).hexdigest()
    assert fetched.locator == f"thing {version}"
    assert not fetched.scratch
    assert left_in(cache / "new") == {f"thing-{version}.crate", f"thing-{version}.crate.sha256"}
    assert left_in(cache / "cargo") == set()


def test_a_cached_crate_is_not_asked_for_again(
    source: CrateSource, registry: Registry, cache: Path
) -> None:
    first = source.fetch("1.2.0", cache)
    asked = len(registry.asked)
    assert source.fetch("1.2.0", cache) == first
    assert len(registry.asked) == asked


def test_a_damaged_cache_is_downloaded_anew(
    source: CrateSource, registry: Registry, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = source.fetch("1.2.0", cache).path
    path.write_bytes(b"half")
    with caplog.at_level(logging.WARNING):
        assert source.fetch("1.2.0", cache).path.read_bytes() == registry.crates["1.2.0"]
    assert caplog.messages == [f"{path} is damaged; downloading it again"]


@pytest.mark.parametrize(
    ("path", "fault", "complaint"),
    [
        ("/1.2.0", "503", "cannot be reached for thing@1.2.0"),
        ("/1.2.0", "truncated", "cannot be reached for thing@1.2.0"),
        ("/1.2.0", "flipped", "sent damaged data"),
        (INDEX, "500", "cannot be reached for thing@1.2.0"),
        ("/config.json", "403", "cannot be reached for thing@1.2.0"),
    ],
)
def test_a_fault_is_one_line_and_leaves_nothing(
    source: CrateSource, registry: Registry, cache: Path, path: str, fault: str, complaint: str
) -> None:
    registry.faults[path] = fault
    with pytest.raises(UserError) as error:
        source.fetch("1.2.0", cache / "new")
    assert complaint in one_line(error)
    assert left_in(cache / "new") == set()
    assert left_in(cache / "cargo") == set()
    registry.faults.clear()
    assert source.fetch("1.2.0", cache / "new").path.exists()


def test_what_cargo_hands_over_is_verified_again(
    source: CrateSource, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("cargo")
    damage = 'for file in "$CARGO_HOME"/registry/cache/*/*; do printf x >>"$file"; done'
    put_cargo(tmp_path / "bin", f'"{real}" "$@" && {damage}', monkeypatch)
    with pytest.raises(UserError, match=r"thing-1\.2\.0\.crate differs from the published one"):
        source.fetch("1.2.0", cache / "new")
    assert left_in(cache / "new") == set()


def test_an_index_of_another_make_is_refused(
    source: CrateSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("cargo")
    damage = 'printf "99999a\\0b\\0c\\0d\\0" >"$(find "$CARGO_HOME"/registry/index -name thing)"'
    put_cargo(tmp_path / "bin", f'"{real}" "$@" && {damage}', monkeypatch)
    with pytest.raises(UserError, match="the index of thing has an unknown format"):
        source.versions()


@pytest.mark.parametrize("version", ["9.9.9", "1.2", "1.3.0"])
def test_a_version_that_is_not_there_or_was_withdrawn_says_so(
    source: CrateSource, cache: Path, version: str
) -> None:
    with pytest.raises(UserError) as error:
        source.fetch(version, cache)
    assert f"has no thing {version}; `nightshift discover --refresh" in one_line(error)


def test_an_unknown_crate_says_so(registry: Registry, cache: Path) -> None:
    with pytest.raises(UserError) as error:
        CrateSource("nothing", cache).versions()
    assert "has no nothing;" in one_line(error)


@pytest.mark.parametrize("version", ["../../etc/passwd", "1/2", "", ".hidden", "1 2", "--help"])
def test_a_version_that_is_a_path_is_refused(
    source: CrateSource, registry: Registry, cache: Path, version: str
) -> None:
    with pytest.raises(UserError, match="is not a version"):
        source.fetch(version, cache)
    assert registry.asked == []


def test_nobody_listening_is_one_line(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(tmp_path / "usual", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "usual"))
    source = CrateSource("thing", cache)
    for ask in (source.versions, lambda: source.fetch("1.2.0", cache)):
        with pytest.raises(UserError) as error:
            ask()
        assert "cannot be reached" in one_line(error)


def test_no_cargo_says_how_it_is_had(
    source: CrateSource, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="cargo is not installed; install the package"):
        source.fetch("1.2.0", cache)


@pytest.mark.parametrize("said", ["no such subcommand: `info`", "no such command: `info`"])
def test_a_cargo_that_is_too_old_says_so(
    source: CrateSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    put_cargo(tmp_path / "bin", f"echo 'error: {said}' >&2; exit 101", monkeypatch)
    with pytest.raises(
        UserError, match=r"cargo is too old: release 1\.82 or newer is required; install"
    ):
        source.versions()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
@pytest.mark.parametrize("size", ["64k", "160k"])
def test_a_really_full_disk(registry: Registry, tmp_path: Path, size: str) -> None:
    """It is full for cargo, or then for the copy of what cargo downloaded."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        with pytest.raises(UserError, match="no space left in"):
            CrateSource("thing", disk).fetch("1.2.0", disk / "new")
        assert left_in(disk / "new") == set()
        assert left_in(disk / "cargo") == set()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_killed_download_leaves_nothing_that_is_taken_for_whole(
    source: CrateSource, registry: Registry, cache: Path
) -> None:
    registry.faults["/1.2.0"] = "stalled"
    script = (
        "import sys; from pathlib import Path; from pipeline.sources.crate import CrateSource; "
        "CrateSource('thing', Path(sys.argv[1])).fetch('1.2.0', Path(sys.argv[1], 'new'))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(cache)], start_new_session=True
    ) as process:
        try:
            assert registry.stalled.wait(DEADLINE)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    registry.faults.clear()
    fetched = source.fetch("1.2.0", cache / "new")
    assert fetched.path.read_bytes() == registry.crates["1.2.0"]
    assert left_in(cache / "cargo") == set()


def test_two_at_once_download_a_crate_once(registry: Registry, cache: Path) -> None:
    def fetch() -> None:
        CrateSource("thing", cache).fetch("1.2.0", cache)

    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert registry.asked.count("/1.2.0") == 1


def test_a_cache_that_cannot_be_a_folder_is_one_line(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    source = CrateSource("thing", tmp_path / "file" / "cache")
    for ask in (source.versions, lambda: source.fetch("1.2.0", tmp_path / "file")):
        with pytest.raises(UserError) as error:
            ask()
        assert "set paths.cache" in one_line(error)


def test_the_real_registry_has_sqlite(cache: Path) -> None:
    try:
        versions = CrateSource("libsqlite3-sys", cache).versions()
    except UserError as error:
        pytest.skip(str(error))
    assert {"0.9.3", "0.30.1", "0.37.0"} <= set(versions)
    assert "0.7.2" not in versions, "it was withdrawn"


def test_a_script_downloads_from_where_cargo_does(source: CrateSource, registry: Registry) -> None:
    assert source.address("$2") == f"{registry.address}/$2"
