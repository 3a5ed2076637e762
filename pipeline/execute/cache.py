"""The cache of builds: each is kept once, under what it was made of, up to a limit of bytes."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from pipeline.durable import write_whole
from pipeline.model import Build, Frozen


class BuildRecord(Frozen):
    """What became of a request: the build in the home of this ``key``, or why there is none."""

    key: str = ""
    build: Build | None = None
    failure: str = ""
    log: str = ""


class BuildCache:
    """Homes of builds, and records of what was asked for and what became of it.

    A home is named by its key, which follows from the source's content, the options and the
    toolchain; a record by the request. Two revisions of equal content share a home.
    """

    def __init__(self, folder: Path, limit: int | None = None) -> None:
        """Keep builds in ``folder``, the least recently used leaving beyond ``limit`` bytes."""
        self.folder = folder
        self._limit = limit
        self._used: set[Path] = set()

    def home(self, target: str, key: str) -> Path:
        """Return where a build is installed."""
        return self.folder / target / key[:20]

    def log(self, target: str, request: str) -> Path:
        """Return where what was said during a build is kept."""
        return self.folder / target / f"{request}.log"

    def record(self, target: str, request: str) -> BuildRecord | None:
        """Return what became of a request; None if that is not known, or the build is gone."""
        try:
            record = BuildRecord.model_validate_json(self._file(target, request).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        if record.build is None:
            return record if record.failure else None
        home = self.home(target, record.key)
        if not home.is_dir():
            return None
        self._use(home)
        return record.model_copy(update={"build": record.build.model_copy(update={"home": home})})

    def keep(self, target: str, request: str, record: BuildRecord) -> None:
        """Remember what became of a request."""
        file = self._file(target, request)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, record.model_dump_json(indent=1))
        if record.build is not None:
            self._use(self.home(target, record.key))

    def forget(self, target: str, request: str) -> None:
        """Forget a request, so that it is tried again."""
        self._file(target, request).unlink(missing_ok=True)

    @contextmanager
    def locked(self, target: str, key: str) -> Iterator[None]:
        """Hold a home: two processes that want one build make it once."""
        path = self.folder / target / f".{key[:20]}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def expire(self, told: Callable[[str], None] = lambda _: None) -> None:
        """Remove the builds that were not used for longest, until all fit the limit.

        Those that this process has used stay, even if they are more than the limit.
        """
        if self._limit is None:
            return
        homes = [home for home in self.folder.glob("*/*") if home.is_dir()]
        sizes = {home: size_of(home) for home in homes}
        total = sum(sizes.values())
        for home in sorted(homes, key=lambda home: home.stat().st_mtime):
            if total <= self._limit:
                return
            if home not in self._used:
                # Out of the way first: a home is whole or not there.
                gone = home.with_name(f".{home.name}.gone")
                home.rename(gone)
                shutil.rmtree(gone)
                total -= sizes[home]
                told(f"{home.name} of {home.parent.name} was not used for longest; removed")

    def _use(self, home: Path) -> None:
        self._used.add(home)
        os.utime(home)

    def _file(self, target: str, request: str) -> Path:
        return self.folder / target / f"{request}.json"


def size_of(folder: Path) -> int:
    """Return the bytes of the files in a folder."""
    return sum(
        (Path(place) / name).lstat().st_size
        for place, _, names in os.walk(folder)
        for name in names
    )
