"""Compile numeric functions with numba, and keep the machine code on disk.

Compiled code contains the constants and the callees of other modules at the time of compilation,
whereas numba's own cache only checks the file of a function. Here the cache folder is therefore
named after the contents of the whole package: after an edit of any module, and after an upgrade,
everything is recompiled.

The folder is ``kernels-<digest>`` in the place of numba's cache: in ``NUMBA_CACHE_DIR`` if that is
set, else in the package's ``__pycache__``, else, if that is not writable, in the user's cache
folder. Folders beside it that belong to other versions of the package are deleted when no process
has started with them for ``KEPT`` seconds. Any number of processes may do all of this concurrently.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import caching

F = TypeVar("F", bound=Callable[..., object])

PACKAGE = Path(__file__).parent
"""The folder whose sources the machine code depends on."""

PREFIX = "kernels-"
"""Prefix of the names of machine code folders."""

KEPT = 24 * 3600.0
"""Seconds for which the folder of another version is kept after a process last started with it.
Switching between two versions then compiles nothing, and a running process keeps its code."""


def compiled(function: F) -> F:
    """Compile ``function`` to machine code at its first call and keep the code on disk.

    Without a writable cache, as in a read-only container, each process compiles for itself.
    """
    # No kernel is called from C, so the wrapper for that is not compiled. Threads run kernels at
    # once: they touch no Python object.
    dispatcher = numba.njit(  # type: ignore[call-overload]
        function, no_cfunc_wrapper=True, nogil=True
    )
    # numba raises RuntimeError if it finds no writable folder.
    with suppress(RuntimeError):
        dispatcher._cache = _Cache(function)  # type: ignore[no-untyped-call]
    return cast(F, dispatcher)


def digest_of(package: Path) -> str:
    """Return a digest of a package's source code and of the compiler's version."""
    versions = (sys.version, numba.__version__, np.__version__)
    digest = hashlib.sha256(repr(versions).encode())
    for file in sorted(package.rglob("*.py")):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{file.relative_to(package).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:20]


@cache
def _digest() -> str:
    return digest_of(PACKAGE)


@cache
def _claim(folder: str) -> None:
    """Mark a cache folder as used, and delete unused ones beside it."""
    with suppress(OSError):
        os.utime(folder)
    oldest = time.time() - KEPT
    for other in Path(folder).parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if other.stat().st_mtime < oldest:
                shutil.rmtree(other)


class _ByContent:
    """Keeps machine code in a folder that is named by the content of the source code."""

    def get_cache_path(self) -> str:
        usual: str = super().get_cache_path()  # type: ignore[misc]
        return os.path.join(usual, PREFIX + _digest())  # noqa: PTH118 - numba joins strings

    def ensure_cache_path(self) -> None:
        super().ensure_cache_path()  # type: ignore[misc]
        _claim(self.get_cache_path())

    def get_source_stamp(self) -> str:
        return _digest()


class _UserProvided(_ByContent, caching.UserProvidedCacheLocator):
    """Keeps machine code in the folder ``NUMBA_CACHE_DIR``."""


class _InTree(_ByContent, caching.InTreeCacheLocator):
    """Keeps machine code in ``__pycache__``."""


class _UserWide(_ByContent, caching.UserWideCacheLocator):
    """Keeps machine code in the user's cache folder."""


class _Implementation(caching.CompileResultCacheImpl):
    """Reads and writes machine code as numba does, but in our folders."""

    _locator_classes = (_UserProvided, _InTree, _UserWide)  # type: ignore[assignment]


class _Cache(caching.FunctionCache):
    """The cached machine code of one function."""

    _impl_class = _Implementation

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write machine code to disk, unless the disk is full."""
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
