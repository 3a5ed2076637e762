"""Results of earlier computations, so that a night computes only what has new values.

The key of a result is the digest of everything that it depends on: its inputs and the program code.
A cached result therefore equals a newly computed one, and the file may be deleted at any time.
Results that a night did not use are dropped.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pipeline
from changepoint.jit import PACKAGE, digest_of
from pipeline.files.atomic_write import write_atomically
from pipeline.storage.columns_file import DERIVED

FILE = "searches.json"
"""The name of the cache file, in the folder of derived files."""

Parts = Sequence[str | bytes]
"""All inputs of a computation."""

Once = Callable[[Parts, Callable[[], Any]], Any]
"""Returns the result of a computation with these inputs: see :meth:`SearchCache.once`."""

_LOG = logging.getLogger(__name__)


def compute_anew(_parts: Parts, compute: Callable[[], Any]) -> Any:
    """Return the result of a computation, without a cache."""
    return compute()


class SearchCache:
    """The cached results of searches in a results folder; without a folder, an empty cache.

    Use :meth:`once` for each computation, then :meth:`save` once. Several threads may compute at
    the same time. ``inputs`` is the digest of all that the last detection depended on.
    """

    def __init__(self, results: Path | None = None) -> None:
        self._path = None if results is None else results / DERIVED / FILE
        self.inputs, self._known = ("", {}) if self._path is None else _load(self._path)
        self._used: dict[str, Any] = {}

    def once(self, parts: Parts, compute: Callable[[], Any]) -> Any:
        """Return the result of ``compute``, or a cached result that has equal ``parts``.

        ``parts`` begin with the name of the computation; its result consists of JSON values.
        """
        name = digest_of_parts(*parts)
        if name not in self._used:
            self._used[name] = self._known[name] if name in self._known else compute()
        return self._used[name]

    def save(self, inputs: str = "") -> None:
        """Save the results used tonight, with the digest of the input of this detection.

        If the file cannot be written, the next night computes everything again.
        """
        if self._path is None:
            return
        if inputs == self.inputs and self._used.keys() == self._known.keys():
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            kept = {"code": _code(), "inputs": inputs, "found": self._used}
            write_atomically(self._path, json.dumps(kept))
        except OSError as error:
            _LOG.info("the cache %s was not written: %s", self._path, error)


def digest_of_parts(*parts: str | bytes) -> str:
    """Return a digest of several texts or bytes, which changes if one of them changes."""
    whole = hashlib.sha256()
    for part in parts:
        content = part if isinstance(part, bytes) else part.encode()
        whole.update(f"{len(content)} ".encode())
        whole.update(content)
    return whole.hexdigest()


@cache
def _code() -> str:
    """Return the digest of the program code; results of another version are not reused."""
    return digest_of(PACKAGE) + digest_of(Path(pipeline.__file__).parent)


def _load(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the cached results; none if the file is missing, damaged or of another version."""
    try:
        tree = json.loads(path.read_bytes())
        if tree["code"] == _code():
            return str(tree["inputs"]), dict(tree["found"])
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, TypeError) as error:
        _LOG.warning("the cache %s is damaged, so everything is searched again: %s", path, error)
    return "", {}
