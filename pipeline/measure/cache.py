"""The cache of builds on disk: one copy of each build, up to a total size."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.files import lock
from pipeline.files.atomic_write import write_atomically
from pipeline.files.json_file import read_json
from pipeline.model import Build, Frozen


class BuildRecord(Frozen):
    """The result of a requested build: where it is installed, or why it failed."""

    key: str = ""
    build: Build | None = None
    failure: str = ""
    log: str = ""


class BuildCache:
    """The folders of installed builds, and the result of each requested build.

    The folder of a build (its home) is named by a key: a digest of the source's content, the
    options and the toolchain. Two revisions of equal content share a home. The file with the result
    of a request is named after the request.
    """

    def __init__(self, folder: Path, limit: int | None = None) -> None:
        """Keep builds in ``folder``; above ``limit`` bytes, delete the least recently used."""
        self.folder = folder
        self._limit = limit
        self._used: set[Path] = set()

    def home(self, target: str, key: str) -> Path:
        """Return the folder in which a build is installed."""
        return self.folder / target / key[:20]

    def log(self, target: str, request: str) -> Path:
        """Return the path of the log of a build."""
        return self.folder / target / f"{request}.log"

    def record(self, target: str, request: str) -> BuildRecord | None:
        """Return the result of a requested build; None if it is unknown or was deleted."""
        record = read_json(self._file(target, request), BuildRecord.model_validate_json)
        if record is None:
            return None
        if record.build is None:
            return record if record.failure else None
        home = self.home(target, record.key)
        if not home.is_dir():
            return None
        self._use(home)
        return record.model_copy(update={"build": record.build.model_copy(update={"home": home})})

    def keep(self, target: str, request: str, record: BuildRecord) -> None:
        """Store the result of a requested build."""
        file = self._file(target, request)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, record.model_dump_json(indent=1))
        if record.build is not None:
            self._use(self.home(target, record.key))

    def forget(self, target: str, request: str) -> None:
        """Delete the result of a requested build, so that the next request builds again."""
        self._file(target, request).unlink(missing_ok=True)

    @contextmanager
    def locked(self, target: str, key: str) -> Iterator[None]:
        """Lock the folder of a build, so that two processes do not compile it at once."""
        with lock.held(self.folder / target / f".{key[:20]}.lock"):
            yield

    def expire(self, note: Callable[[str], None] = lambda _: None) -> None:
        """Delete the least recently used builds until the others fit the size limit.

        Builds that this process has used stay, even beyond the limit.
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
                # Rename first, so that a home is either complete or absent.
                gone = home.with_name(f".{home.name}.gone")
                home.rename(gone)
                shutil.rmtree(gone)
                total -= sizes[home]
                note(f"removed the least recently used build, {home.name} of {home.parent.name}")

    def _use(self, home: Path) -> None:
        self._used.add(home)
        os.utime(home)

    def _file(self, target: str, request: str) -> Path:
        return self.folder / target / f"{request}.json"


def size_of(folder: Path) -> int:
    """Return how large all files in a folder are together, in bytes."""
    return sum(
        (Path(place) / name).lstat().st_size
        for place, _, names in os.walk(folder)
        for name in names
    )
