"""Rust's registry as a source: a version is a crate, discovery is its index as cargo has it.

Several crates carry the source code of a DBMS. The program ``cargo`` knows where the registry is,
or what its user put in the place of it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ValidationError

from pipeline.errors import UserError
from pipeline.sources.base import Fetched
from pipeline.sources.base.kept import full_error, keep, locked, storage_error, verified

PATIENCE = 1800.0
"""Seconds after which a download is given up."""
CARGO = "install the package cargo, or cargo-web on Debian 12"
"""How a cargo that has what is used here is had: its version 1.82 or a newer one."""

_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+-]*")
_INDEX_HEADER = 5
"""Bytes before the first field of a file of the index: the numbers of its formats."""


class CrateSource:
    """The versions of one crate, and their .crate files. ``coordinates`` are the crate's name."""

    name = "Rust's registry"

    def __init__(self, coordinates: str, cache: Path) -> None:
        self._crate = coordinates
        self._folder = cache / "cargo"

    def versions(self) -> tuple[str, ...]:
        """Return every version that was not withdrawn, in the order of their publication."""
        with self._asked(self._crate) as home:
            return tuple(entry.vers for entry in self._index(home) if not entry.yanked)

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Return the .crate of ``version``, from ``cache`` if its checksum still holds there."""
        if not _VERSION.fullmatch(version):
            raise UserError(f"{version!r} is not a version; discover lists those there are")
        path = cache / f"{self._crate}-{version}.crate"
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with locked(path):
                sha256 = verified(path) or self._download(version, path)
        except OSError as error:
            raise storage_error(error, cache, path.name) from error
        return Fetched(path=path, locator=f"{self._crate} {version}", sha256=sha256)

    def _download(self, version: str, path: Path) -> str:
        part = path.with_name(f".{path.name}.part")
        try:
            with self._asked(f"{self._crate}@{version}") as home:
                published = {entry.vers: entry.cksum for entry in self._index(home)}
                # cargo takes 1.2 for any 1.2.x.
                if version not in published:
                    raise _unknown(f"{self._crate} {version}")
                (downloaded,) = home.glob(f"registry/cache/*/{path.name}")
                shutil.copyfile(downloaded, part)
            with part.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
                os.fsync(file.fileno())
            if sha256 != published[version]:
                raise _damaged(f"{path.name} is not the published one")
            keep(part, path, sha256)
        finally:
            part.unlink(missing_ok=True)
        return sha256

    def _index(self, home: Path) -> list[_Entry]:
        """Return what the index that cargo has just had says of the crate.

        The file is a header and then, each ended by a zero, the state of the index and twice as
        many fields as there are versions: the version, and its line of the index.
        """
        file = next(home.glob(f"registry/index/*/.cache/**/{self._crate}"), None)
        if file is None:
            raise UserError(
                f"cargo has no index of {self._crate}: in its configuration a source without one "
                "stands for the registry; put one with an index there"
            )
        lines = file.read_bytes()[_INDEX_HEADER:].split(b"\0")[2::2]
        try:
            return [_Entry.model_validate_json(line) for line in lines]
        except ValidationError as error:
            raise _damaged(f"the index of {self._crate} is none that is known here") from error

    @contextmanager
    def _asked(self, crate: str) -> Iterator[Path]:
        """Let cargo get a crate and its index into an empty folder, which is given for a while.

        Nothing is left of it: cargo takes a file that it has for the right one, whatever became
        of it.
        """
        home = self._folder / self._crate
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with locked(home):
                shutil.rmtree(home, ignore_errors=True)
                try:
                    home.mkdir()
                    _adopt_settings(home)
                    _run(home, crate)
                    yield home
                finally:
                    shutil.rmtree(home, ignore_errors=True)
        except OSError as error:
            raise storage_error(error, self._folder, crate) from error


class _Entry(BaseModel):
    """One version in the index; more stands there."""

    vers: str
    cksum: str
    yanked: bool = False


def _adopt_settings(home: Path) -> None:
    """Let the user's settings hold in our folder too: they may name a mirror or a proxy."""
    usual = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    for name in ("config.toml", "credentials.toml"):
        if (usual / name).is_file():
            (home / name).symlink_to((usual / name).absolute())


def _run(home: Path, crate: str) -> None:
    """Let cargo get a crate, with ``home`` as its folder. Raises UserError when it fails."""
    # The registry is named, or cargo would not take what its settings put in the place of it.
    asked = ("info", "--quiet", "--color=never", "--registry=crates-io", "--", crate)
    try:
        answer = subprocess.run(
            ["cargo", *asked],
            cwd=home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, "CARGO_HOME": str(home), "LC_ALL": "C"},
            timeout=PATIENCE,
            check=False,
        )
    except FileNotFoundError as error:
        raise UserError(f"cargo is not installed; {CARGO}") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(
            f"cargo had not downloaded {crate} after {PATIENCE:.0f} s; run again later"
        ) from error
    if answer.returncode:
        raise _complaint(answer.stderr, home.parent, crate)


def _complaint(said: str, folder: Path, crate: str) -> UserError:
    """Return the one line for a cargo that failed, from what it said."""
    if "No space left on device" in said or "Disk quota exceeded" in said:
        return full_error(folder, crate)
    if re.search(r"no such (sub)?command", said):
        return UserError(f"this cargo is too old, 1.82 or newer is needed; {CARGO}")
    if "could not find `" in said:
        return _unknown(crate.replace("@", " "))
    if "failed to verify the checksum" in said:
        return _damaged(f"{crate} does not have the published checksum")
    # What it says last is the first cause; its addresses are for machines.
    first_cause = said.rpartition("Caused by:")[2].strip()
    cause = re.search(r"^(?:error: )?(?:\[\d+\] )?(.+?)(?: \(.*)?$", first_cause, re.MULTILINE)
    reason = re.sub(r"\S+://\S+", "an address", cause[1]) if cause else "it said nothing"
    return UserError(
        f"{CrateSource.name} cannot be reached for {crate} ({reason}); check the network and "
        "cargo's settings, and run again"
    )


def _unknown(what: str) -> UserError:
    return UserError(
        f"{CrateSource.name} has no {what}; nightshift discover --refresh lists what it has"
    )


def _damaged(what: str) -> UserError:
    return UserError(f"{CrateSource.name} sent damaged data ({what}); run again later")
