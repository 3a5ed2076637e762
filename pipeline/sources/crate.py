"""The Rust registry as a source: every version is a crate.

Several crates include the source code of a DBMS. The program ``cargo`` knows the registry, or the
user's replacement for it.
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

from pipeline.sources.base import Fetched
from pipeline.sources.base.persistence import full_error, keep, kept, locked, storage_error
from pipeline.text.errors import UserError

PATIENCE = 1800.0
"""Seconds after which a download is aborted."""
CARGO = "install the package cargo, or cargo-web on Debian 12"
"""How to install a cargo with the features used here, version 1.82 or newer."""

_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+-]*")
_INDEX_HEADER = 5
"""Bytes before the first field of an index file: its format numbers."""


class CrateSource:
    """The versions of one Rust crate, and their .crate files."""

    name = "Rust's registry"

    def __init__(self, coordinates: str, cache: Path) -> None:
        self._crate = coordinates
        self._folder = cache / "cargo"

    def versions(self) -> tuple[str, ...]:
        """Return every version of the crate that was not withdrawn, oldest first."""
        with self._asked(self._crate) as home:
            return tuple(entry.vers for entry in self._index(home) if not entry.yanked)

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Download the .crate file of a version, unless the cache has it."""
        if not _VERSION.fullmatch(version):
            raise UserError(
                f"{version!r} is not a version; `nightshift discover` lists the versions"
            )
        path = cache / f"{self._crate}-{version}.crate"
        sha256 = kept(path, lambda: self._download(version, path))
        return Fetched(path=path, locator=f"{self._crate} {version}", sha256=sha256)

    def address(self, version: str) -> str:
        """Return the address of the .crate file of a version, as the registry's index gives it."""
        with self._asked(self._crate) as home:
            file = next(home.glob("registry/index/*/config.json"), None)
            try:
                downloads = _Downloads.model_validate_json(file.read_bytes() if file else b"").dl
            except ValidationError as error:
                raise UserError(
                    f"cargo does not record from where it downloads {self._crate}; use a line of "
                    "another source"
                ) from error
        if "{" not in downloads:
            downloads += "/{crate}/{version}/download"
        return downloads.replace("{crate}", self._crate).replace("{version}", version)

    def _download(self, version: str, path: Path) -> str:
        part = path.with_name(f".{path.name}.part")
        try:
            with self._asked(f"{self._crate}@{version}") as home:
                published = {entry.vers: entry.cksum for entry in self._index(home)}
                # cargo accepts 1.2 as any 1.2.x.
                if version not in published:
                    raise _unknown(f"{self._crate} {version}")
                (downloaded,) = home.glob(f"registry/cache/*/{path.name}")
                shutil.copyfile(downloaded, part)
            with part.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
                os.fsync(file.fileno())
            if sha256 != published[version]:
                raise _damaged(f"{path.name} differs from the published one")
            keep(part, path, sha256)
        finally:
            part.unlink(missing_ok=True)
        return sha256

    def _index(self, home: Path) -> list[_Entry]:
        """Return what cargo's index lists for the crate.

        The file is a header and zero-terminated fields: the state of the index, then for each
        version its number and its line of the index.
        """
        file = next(home.glob(f"registry/index/*/.cache/**/{self._crate}"), None)
        if file is None:
            raise UserError(
                f"the versions of {self._crate} cannot be listed: cargo's configuration replaces "
                "the registry with a source that has no list of versions; remove the replacement"
            )
        lines = file.read_bytes()[_INDEX_HEADER:].split(b"\0")[2::2]
        try:
            return [_Entry.model_validate_json(line) for line in lines]
        except ValidationError as error:
            raise _damaged(f"the index of {self._crate} has an unknown format") from error

    @contextmanager
    def _asked(self, crate: str) -> Iterator[Path]:
        """Let cargo download a crate into an empty folder, and yield the folder.

        The folder is deleted afterwards: cargo trusts a file that exists, even a damaged one.
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
    """One version of a crate in cargo's index."""

    vers: str
    cksum: str
    yanked: bool = False


class _Downloads(BaseModel):
    """The file config.json of a registry's index: ``dl`` is where crates are downloaded from."""

    dl: str


def _adopt_settings(home: Path) -> None:
    """Use the user's settings of cargo, which may name a mirror or a proxy."""
    usual = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    for name in ("config.toml", "credentials.toml"):
        if (usual / name).is_file():
            (home / name).symlink_to((usual / name).absolute())


def _run(home: Path, crate: str) -> None:
    """Let cargo download a crate. Raises UserError if that fails."""
    # Without a registry name cargo would ignore a replacement in its settings.
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
            f"cargo did not download {crate} within {PATIENCE:.0f} s; run again later"
        ) from error
    if answer.returncode:
        raise _complaint(answer.stderr, home.parent, crate)


def _complaint(output: str, folder: Path, crate: str) -> UserError:
    """Return the error for a failed cargo, from what it printed."""
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return full_error(folder, crate)
    if re.search(r"no such (sub)?command", output):
        return UserError(f"cargo is too old: release 1.82 or newer is required; {CARGO}")
    if "could not find `" in output:
        return _unknown(crate.replace("@", " "))
    if "failed to verify the checksum" in output:
        return _damaged(f"{crate} does not have the published checksum")
    # The last cause in the output is the first one; its addresses help nobody.
    first_cause = output.rpartition("Caused by:")[2].strip()
    cause = re.search(r"^(?:error: )?(?:\[\d+\] )?(.+?)(?: \(.*)?$", first_cause, re.MULTILINE)
    reason = re.sub(r"\S+://\S+", "an address", cause[1]) if cause else "no output"
    return UserError(
        f"{CrateSource.name} cannot be reached for {crate} ({reason}); check the network and "
        "cargo's settings, and run again"
    )


def _unknown(what: str) -> UserError:
    return UserError(
        f"{CrateSource.name} has no {what}; `nightshift discover --refresh` lists its versions"
    )


def _damaged(what: str) -> UserError:
    return UserError(f"{CrateSource.name} sent damaged data ({what}); run again later")
