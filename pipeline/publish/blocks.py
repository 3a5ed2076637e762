"""Bulk backfill: samples as blocks in the data folder of a Prometheus on this machine.

promtool makes the blocks. They appear in the data folder by a rename each, once all are made:
whatever happens before leaves it as it was.
"""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import UserError
from pipeline.machine.account import contained
from pipeline.publish.openmetrics import exposition
from pipeline.publish.samples import TimeSeries
from pipeline.publish.spool import Spool

BLOCK_HOURS = 4374
"""Hours of a block, half a year: two, times a power of three, as promtool wants it. Shorter ones
are more blocks, slower to make and to query (docs/publishing.md)."""
SCRATCH = ".nightshift"
"""The folder in the data folder in which blocks are made. Prometheus passes over it."""

_SPAN = BLOCK_HOURS * 3_600_000


class Filled(NamedTuple):
    """What was added to a data folder."""

    samples: int
    blocks: int


def write_blocks(
    series: Iterable[TimeSeries],
    data_folder: Path,
    *,
    promtool: str = "promtool",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Filled:
    """Add samples, in any order, to the data folder of a Prometheus, running or not.

    ``progress`` is told how many samples are in blocks, and how many there are. Raises UserError,
    and adds nothing, for a folder that cannot be written, a full disk, and a promtool that is
    missing or fails; ValueError for samples before 1970, which promtool would pass over.
    """
    tool = _found(promtool)
    try:
        with _scratch(data_folder) as scratch:
            return _build(series, data_folder, scratch, tool, progress)
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise _full(data_folder) from error
        raise UserError(f"cannot sort samples in {data_folder} ({error}); see its disk") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full(data_folder) from error
        raise UserError(
            f"cannot write blocks in {data_folder} ({error.strerror}); see its permissions"
        ) from error


def _build(
    series: Iterable[TimeSeries],
    data_folder: Path,
    scratch: Path,
    promtool: str,
    progress: Callable[[int, int], None],
) -> Filled:
    made = scratch / "blocks"
    made.mkdir()
    spool = Spool(scratch / "samples.db", _SPAN)
    try:
        spool.add(series)
        spans = spool.spans()
        if spans and spans[0][0] < 0:
            raise ValueError("promtool passes over samples before 1970")
        total, done = sum(count for _, count in spans), 0
        text = scratch / "samples.txt"
        for span, count in spans:
            with text.open("w", encoding="utf-8") as file:
                file.writelines(exposition(spool.samples(span)))
            _create(promtool, text, made, scratch)
            done += count
            progress(done, total)
    finally:
        spool.close()
    blocks = sorted(made.iterdir())
    _hand_over(made, data_folder)
    for block in blocks:
        block.rename(data_folder / block.name)
    _sync(data_folder)
    return Filled(total, len(blocks))


def _create(promtool: str, text: Path, made: Path, scratch: Path) -> None:
    """Make a block of a file of samples. promtool reads it once for each block in it: one."""
    command = [promtool, "tsdb", "create-blocks-from", "openmetrics", "--quiet"]
    ran = subprocess.run(
        contained([*command, f"--max-block-duration={BLOCK_HOURS}h", str(text), str(made)]),
        check=False,
        capture_output=True,
        text=True,
        # Where it keeps what it sorts: not on another disk, and gone with the rest.
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    if ran.returncode:
        said = (ran.stderr or ran.stdout).strip().splitlines() or [f"exit code {ran.returncode}"]
        if "no space left on device" in ran.stderr:
            raise OSError(errno.ENOSPC, said[-1])
        raise UserError(f"promtool could not make blocks ({said[-1]}); see that {promtool} works")


@contextmanager
def _scratch(data_folder: Path) -> Iterator[Path]:
    """Hold a data folder and give a folder on its disk. What a killed process left there goes."""
    _check(data_folder)
    held = os.open(data_folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"another nightshift is filling {data_folder}; wait for it to end, or stop it"
            ) from error
        scratch = data_folder / SCRATCH
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(mode=0o700)
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    finally:
        os.close(held)


def _check(data_folder: Path) -> None:
    """Refuse a data folder whose owner we cannot give blocks to."""
    if not data_folder.is_dir():
        raise UserError(
            f"{data_folder} is no folder; name the data folder of Prometheus (what its option "
            "--storage.tsdb.path says), which it makes when it is started"
        )
    owner = data_folder.stat().st_uid
    if os.geteuid() not in (0, owner):
        raise UserError(
            f"{data_folder} belongs to {_name(owner)}; run this as that user, or as root"
        )


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"the user {uid}"


def _hand_over(made: Path, data_folder: Path) -> None:
    """Make blocks the property of whom the data folder belongs to."""
    if os.geteuid() == 0:
        owner = data_folder.stat()
        for path in made.rglob("*"):
            os.chown(path, owner.st_uid, owner.st_gid)


def _sync(folder: Path) -> None:
    """Force the names in a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _found(promtool: str) -> str:
    """Return where promtool is: on the PATH, or beside Python, where tools/setup puts it."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
    found = shutil.which(promtool, path=path)
    if found is None:
        raise UserError(
            f"{promtool} is not here, which makes blocks; install Debian's package prometheus, or "
            "publish without blocks"
        )
    return found


def _full(data_folder: Path) -> UserError:
    return UserError(f"no space left in {data_folder} for blocks; free some, and publish again")
