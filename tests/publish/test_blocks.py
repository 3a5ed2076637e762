"""Blocks, made by the real promtool and read by the real Prometheus."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.machine.account import Account
from pipeline.publish.blocks import SCRATCH, Filled, write_blocks
from pipeline.publish.remote import RemoteWriter
from pipeline.publish.samples import TimedValue, TimeSeries, labelled
from pipeline.text.errors import UserError
from tests.prometheus import Prometheus

DAY = 86_400_000
NOW = 1_700_000_000_000
VALUES = [1.5, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1e300, 1 / 3]


def make_series() -> list[TimeSeries]:
    """Make series of a few names over three years, at odd milliseconds, in no order."""
    names = ("nightshift_run_qps", "nightshift_revision_qps", "nightshift_night")
    return [
        TimeSeries(
            labelled(names[n % 3], step=f'"{n // 3}"\\\n🌙'),
            [TimedValue(NOW - at * 8_765_432_117, VALUES[(n + at) % 8]) for at in range(10)],
        )
        for n in range(12)
    ]


def shown(server: Prometheus) -> dict[str, list[str]]:
    """What it has, in words: what is no number equals nothing."""
    return {
        repr(labels): [repr(sample) for sample in samples]
        for labels, samples in server.samples('{__name__=~"nightshift_.+"}').items()
    }


@pytest.fixture
def data(tmp_path: Path, promtool: str) -> Path:
    assert promtool
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A program in promtool's place; tests write it."""
    path = tmp_path / "promtool"
    path.touch(mode=0o755)
    return path


def test_blocks_say_what_remote_writes_say(prometheus: Prometheus) -> None:
    series = make_series()
    assert RemoteWriter(prometheus.write_url).write(series).sent == 120
    written = shown(prometheus)
    assert sum(map(len, written.values())) == 120
    prometheus.stop()
    prometheus.data = prometheus.folder / "filled"
    prometheus.data.mkdir()
    reported: list[tuple[int, int]] = []
    # One by one and backwards: runs come in the order of nights, series in that of nothing.
    pieces = [TimeSeries(labels, [sample]) for labels, samples in series for sample in samples]
    filled = write_blocks(
        reversed(pieces),
        prometheus.data,
        progress=lambda done, total: reported.append((done, total)),
    )
    # Ten moments, 101 days apart, in half years.
    assert filled.samples == 120 and filled.blocks in (5, 6)
    assert len(reported) == filled.blocks and reported[-1] == (120, 120)
    assert sorted(done for done, _ in reported) == [done for done, _ in reported]
    assert not (prometheus.data / SCRATCH).exists()
    prometheus.start()
    assert shown(prometheus) == written


def test_blocks_over_samples_that_are_there_change_nothing(prometheus: Prometheus) -> None:
    series = make_series()
    RemoteWriter(prometheus.write_url).write(series[::2])
    for _ in range(2):
        assert write_blocks(series, prometheus.data).samples == 120
    prometheus.kill()
    prometheus.start()
    assert sum(map(len, shown(prometheus).values())) == 120


def test_of_two_values_at_one_time_the_first_stays(prometheus: Prometheus) -> None:
    labels = labelled("nightshift_test")
    pieces = [TimeSeries(labels, [TimedValue(NOW, value)]) for value in (1.0, 2.0)]
    prometheus.stop()
    assert write_blocks(pieces, prometheus.data) == Filled(samples=1, blocks=1)
    prometheus.start()
    assert prometheus.samples("nightshift_test") == {labels: [TimedValue(NOW, 1.0)]}


def test_nothing_is_no_block(data: Path) -> None:
    assert write_blocks([], data) == Filled(0, 0)
    assert list(data.iterdir()) == []


def test_before_1970_there_is_no_promtool(data: Path) -> None:
    with pytest.raises(ValueError, match="before 1970"):
        write_blocks([TimeSeries(labelled("x"), [TimedValue(-1, 1)])], data)
    assert list(data.iterdir()) == []


def test_blocks_belong_to_whom_the_folder_belongs_to(data: Path, account: Account) -> None:
    if not account.switch:
        pytest.skip("only root can give files away")
    os.chown(data, account.uid, account.gid)
    write_blocks(make_series(), data)
    owners = {(path.stat().st_uid, path.stat().st_gid) for path in data.rglob("*")}
    assert owners == {(account.uid, account.gid)}


def test_a_folder_that_is_not_ours_is_refused(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: data.stat().st_uid + 1)
    with pytest.raises(UserError, match=r"belongs to \w+; run nightshift as this user, or as root"):
        write_blocks(make_series(), data)
    with pytest.raises(
        UserError,
        match=r"missing is not a folder; name the data folder",
    ):
        write_blocks(make_series(), data / "missing")


# Writes half a block, reports that, and never ends.
STUCK = """\
#!/bin/sh
mkdir -p "$6/01STUCK.tmp-for-creation/chunks"
echo half >"$6/01STUCK.tmp-for-creation/chunks/000001"
echo half >"$TMPDIR/head"
: >"{started}"
exec sleep 600
"""
FILL = """\
import sys
from pathlib import Path
from tests.publish.test_blocks import make_series, write_blocks
write_blocks(make_series(), Path(sys.argv[1]), promtool=sys.argv[2])
"""


def test_a_killed_fill_leaves_nothing_that_prometheus_reads(
    data: Path, stand_in: Path, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    stand_in.write_text(STUCK.format(started=started))
    with subprocess.Popen([sys.executable, "-c", FILL, str(data), str(stand_in)]) as filling:
        try:
            deadline = time.monotonic() + 300
            while not started.exists():
                assert filling.poll() is None and time.monotonic() < deadline
                time.sleep(0.01)
            with pytest.raises(UserError, match="another nightshift is filling"):
                write_blocks(make_series(), data)
        finally:
            filling.kill()
    assert [path.name for path in data.iterdir()] == [SCRATCH]
    assert (data / SCRATCH / "head").exists()
    filled = write_blocks(make_series(), data)
    assert not (data / SCRATCH).exists()
    assert len(list(data.iterdir())) == filled.blocks


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (
            "echo opening >&2\necho 'bad block' >&2\nexit 1",
            r"promtool could not create blocks \(bad block\)",
        ),
        ("echo 'not this way'\nexit 3", r"promtool could not create blocks \(not this way\)"),
        ("kill -9 $$", r"promtool could not create blocks \(exit code -9\)"),
        ("echo 'write x: no space left on device' >&2\nexit 1", "no space left in .*data for"),
    ],
)
def test_a_promtool_that_fails_is_reported_in_its_words(
    data: Path, stand_in: Path, script: str, says: str
) -> None:
    stand_in.write_text(f"#!/bin/sh\n{script}\n")
    with pytest.raises(UserError, match=says) as error:
        write_blocks(make_series(), data, promtool=str(stand_in))
    assert "\n" not in str(error.value)
    assert list(data.iterdir()) == []


def test_a_missing_promtool_is_reported_with_its_package(data: Path) -> None:
    with pytest.raises(
        UserError,
        match=r"promtool-0, which creates blocks, is not installed; install the package",
    ):
        write_blocks(make_series(), data, promtool="promtool-0")


def test_promtool_is_found_beside_the_interpreter(
    data: Path, stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.write_text("#!/bin/sh\necho found >&2\nexit 1\n")
    beside = stand_in.rename(stand_in.with_name("promtool-beside"))
    monkeypatch.setattr(sys, "executable", str(beside.with_name("python")))
    with pytest.raises(UserError, match=r"\(found\)"):
        write_blocks(make_series(), data, promtool=beside.name)


@pytest.mark.parametrize("size", ["16k", "300k"])
def test_a_full_disk_is_reported_and_nothing_is_added(
    tmp_path: Path, promtool: str, size: str
) -> None:
    assert promtool
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a disk that is full has to be mounted, which takes root")
    try:
        with pytest.raises(UserError, match=r"no space left in .* for blocks; free some"):
            write_blocks(make_series(), disk)
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
