"""Two cells measured at the same time on disjoint processors share nothing."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from pipeline.storage.bundle import read_bundle
from tests.conftest import Release
from tests.nights import Night, give_own_cache, make_night


class Seen(NamedTuple):
    """What all processes of a night were seen with, over its whole length."""

    pids: set[int]
    groups: set[int]
    folders: set[str]
    processors: set[int]


class Listening(NamedTuple):
    """Where a night's servers said that they listened, and where their data was.

    Their sockets are open for seconds, and not everywhere shown to others: to look at them from
    outside may come too late.
    """

    ports: set[str]
    sockets: set[str]
    data: set[str]


@pytest.fixture
def two(
    server_folder: Path, cache: Path, releases: Callable[[str], Release]
) -> tuple[Night, Night]:
    """Two nights with caches of their own; archives are downloaded once."""
    version = releases("17").revision.version
    nights = []
    for name in ("one", "other"):
        night = make_night(server_folder / name, revisions=[version], steps=["point-query"])
        give_own_cache(night, server_folder / f"cache-{name}", cache)
        night.run("discover")
        night.run("build")
        nights.append(night)
    return nights[0], nights[1]


def watch(root: psutil.Process, seen: Seen) -> None:
    """Note what a night's processes, and their servers above all, have right now.

    Nothing before taskset has done its work: until then it is a process of these tests.
    """
    if len(root.cpu_affinity() or ()) != 1:
        return
    for process in [root, *root.children(recursive=True)]:
        try:
            seen.pids.add(process.pid)
            if process.pid != root.pid:
                seen.groups.add(os.getpgid(process.pid))
            seen.processors.update(process.cpu_affinity() or ())
            # A process that is just ending has none.
            seen.folders.update(filter(None, [process.cwd()]))
        except (psutil.Error, ProcessLookupError, FileNotFoundError):
            continue


def listening(night: Night) -> Listening:
    """Read what the server of a night's only run reported of itself."""
    (path,) = (night.folder / "results/bundles").iterdir()
    settings = json.loads(read_bundle(path).files["settings.json"])
    assert settings["listen_addresses"] == "127.0.0.1"
    return Listening(
        {settings["port"]}, {settings["unix_socket_directories"]}, {settings["data_directory"]}
    )


def test_two_cells_at_once_do_not_meet(two: tuple[Night, Night]) -> None:
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        pytest.skip("this machine has one processor")
    running = [start(night, processor) for night, processor in zip(two, processors, strict=False)]
    seen = [Seen(set(), set(), set(), set()) for _ in running]
    while any(process.poll() is None for process in running):
        for process, its in zip(running, seen, strict=True):
            if process.poll() is None:
                with contextlib.suppress(psutil.NoSuchProcess):
                    watch(psutil.Process(process.pid), its)
        time.sleep(0.02)
    assert [process.returncode for process in running] == [0, 0]
    assert [len(night.bundles()) for night in two] == [1, 1]
    one, other = seen
    assert len(one.groups) >= 2, "the server is of a group of its own"
    assert [its.processors for its in seen] == [{processors[0]}, {processors[1]}]
    for field in Seen._fields:
        assert not getattr(one, field) & getattr(other, field), field
    for ours, theirs in zip(*map(listening, two), strict=True):
        assert all(ours)
        assert not ours & theirs


def start(night: Night, processor: int) -> subprocess.Popen[bytes]:
    """Start a run that may use one processor, as a job of its own would be.

    Its lease is of a machine of its own, as that of a container is: one machine has only one.
    """
    return subprocess.Popen(
        ["taskset", "-c", str(processor), *night.command("run")],
        cwd=night.folder,
        env={**os.environ, "NIGHTSHIFT_RUN": str(night.folder / "run")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
