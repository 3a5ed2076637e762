"""Publish a long history in one go: write blocks into the data folder of a local Prometheus.

promtool creates the blocks. When all are complete, they are moved into the data folder; a failure
before that leaves the folder unchanged.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pipeline.files.atomic_write import sync_folder
from pipeline.machine.account import contained, user_name
from pipeline.machine.programs import find_program
from pipeline.publish.openmetrics import exposition
from pipeline.publish.samples import TimeSeries
from pipeline.publish.spool import Spool
from pipeline.text.errors import UserError

BLOCK_HOURS = 4374
"""Duration of a block in hours, half a year: two times a power of three, as promtool requires.
Shorter blocks are more numerous, and slower to create and to query (docs/guide/publishing.md)."""
SCRATCH = ".nightshift"
"""The folder inside the data folder in which blocks are created. Prometheus ignores it."""

_SPAN = BLOCK_HOURS * 3_600_000


class Filled(NamedTuple):
    """How many samples and blocks were added to the data folder of Prometheus."""

    samples: int
    blocks: int


def write_blocks(
    series: Iterable[TimeSeries],
    data_folder: Path,
    *,
    promtool: str = "promtool",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Filled:
    """Add samples to the data folder of a Prometheus, whether it runs or not.

    ``progress`` receives the number of samples written to blocks so far, and the total. Raises
    UserError, and adds nothing, for a folder that is not writable, a full disk, and a promtool that
    is missing or fails; ValueError for samples before 1970, which promtool would skip.
    """
    tool = _found(promtool)
    try:
        with _scratch(data_folder) as scratch:
            return _build(series, data_folder, scratch, tool, progress)
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise _full(data_folder) from error
        raise UserError(
            f"cannot sort samples in {data_folder} ({error}); check its disk"
        ) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full(data_folder) from error
        raise UserError(
            f"cannot write blocks in {data_folder} ({error.strerror}); check its permissions"
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
            raise ValueError("promtool ignores samples before 1970")
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
    sync_folder(data_folder)
    return Filled(total, len(blocks))


def _create(promtool: str, text: Path, made: Path, scratch: Path) -> None:
    """Create one block from a file of samples, with Prometheus's tool promtool."""
    command = [promtool, "tsdb", "create-blocks-from", "openmetrics", "--quiet"]
    ran = subprocess.run(
        contained([*command, f"--max-block-duration={BLOCK_HOURS}h", str(text), str(made)]),
        check=False,
        capture_output=True,
        text=True,
        # promtool's sort files stay on the same disk, and are deleted with the rest.
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    if ran.returncode:
        output = (ran.stderr or ran.stdout).strip().splitlines() or [f"exit code {ran.returncode}"]
        if "no space left on device" in ran.stderr:
            raise OSError(errno.ENOSPC, output[-1])
        raise UserError(
            f"promtool could not create blocks ({output[-1]}); check that {promtool} works"
        )


@contextmanager
def _scratch(data_folder: Path) -> Iterator[Path]:
    """Lock the data folder of Prometheus, and yield a temporary folder in it."""
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
    """Raise UserError for a data folder that nightshift cannot write blocks for."""
    if not data_folder.is_dir():
        raise UserError(
            f"{data_folder} is not a folder; name the data folder of Prometheus (its option "
            "--storage.tsdb.path), which Prometheus creates when it starts"
        )
    owner = data_folder.stat().st_uid
    if os.geteuid() not in (0, owner):
        raise UserError(
            f"{data_folder} belongs to {user_name(owner)}; run nightshift as this user, or as root"
        )


def _hand_over(made: Path, data_folder: Path) -> None:
    """As root, make the owner of the data folder the owner of the new blocks."""
    if os.geteuid() == 0:
        owner = data_folder.stat()
        for path in made.rglob("*"):
            os.chown(path, owner.st_uid, owner.st_gid)


def _found(promtool: str) -> str:
    found = find_program(promtool)
    if found is None:
        raise UserError(
            f"{promtool}, which creates blocks, is not installed; install the package "
            "prometheus, or publish without --blocks"
        )
    return str(found)


def _full(data_folder: Path) -> UserError:
    return UserError(
        f"no space left in {data_folder} for blocks; free some space, and publish again"
    )
