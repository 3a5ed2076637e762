"""Results of earlier searches for changes, so that a night searches only series with new values.

The key of a result is the digest of everything that it depends on: the values, the settings and the
code of the detector. A cached result therefore equals that of a new search, and the file may be
deleted at any time. Results that a night did not use are dropped.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import pipeline
from changepoint import Pooled
from changepoint.comparison.verdict import Verdict
from changepoint.jit import PACKAGE, digest_of
from pipeline.files.atomic_write import write_atomically
from pipeline.model import Shift
from pipeline.regressions.pooled_detection import Window, search_window
from pipeline.regressions.recovery import LevelPair, compare_levels
from pipeline.regressions.rules import DetectionSettings
from pipeline.regressions.shifts import NOTHING_SHARED, KnownNoise, find_shifts
from pipeline.storage.columns_file import DERIVED
from pipeline.storage.series import Ints, RunIndex, Series

FILE = "searches.json"
"""The name of the cache file, in the folder of derived files."""

_LOG = logging.getLogger(__name__)


class SearchCache:
    """The cached results of searches in a results folder; without a folder, an empty cache.

    Use :meth:`shifts` and :meth:`window` in place of a search, and :meth:`verdict` in place of a
    comparison, then :meth:`save` once. Several threads may search at once. ``inputs`` is the digest
    of everything that the last detection depended on.
    """

    def __init__(self, results: Path | None = None) -> None:
        self._path = None if results is None else results / DERIVED / FILE
        self.inputs, self._known = ("", {}) if self._path is None else _load(self._path)
        self._used: dict[str, Any] = {}
        self._revisions: list[tuple[RunIndex, Ints, str]] = []

    def shifts(
        self, series: Series, watch: DetectionSettings, noise: KnownNoise = NOTHING_SHARED
    ) -> list[Shift]:
        """Return the result of :func:`find_shifts`, from the cache if the series is unchanged."""
        name = _digest(
            series.key.model_dump_json(),
            watch.model_dump_json(),
            repr(noise),
            self._measured(series),
            series.values.tobytes(),
        )
        found = self._of(
            name,
            lambda: [shift.model_dump(mode="json") for shift in find_shifts(series, watch, noise)],
        )
        return [Shift.model_validate(one) for one in found]

    def window(self, window: Window) -> Pooled:
        """Return the result of :func:`search_window`, from the cache if nothing changed."""
        name = _digest(
            str(window.alarms_per_1000), window.positions.tobytes(), window.values.tobytes()
        )
        return Pooled.from_dict(self._of(name, lambda: search_window(window).to_dict()))

    def verdict(self, levels: LevelPair) -> Verdict:
        """Return the result of :func:`compare_levels`, from the cache if nothing changed."""
        name = _digest(
            levels.better,
            repr(levels.smallest),
            levels.old.tobytes(),
            levels.new.tobytes(),
        )
        verdict: Verdict = self._of(name, lambda: compare_levels(levels))
        return verdict

    def save(self, inputs: str = "") -> None:
        """Save the results used tonight, with the digest of the input of this detection.

        If the file cannot be written, the next night searches everything again.
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

    def _measured(self, series: Series) -> str:
        """Return the digest of the revisions and positions of a series' values.

        It is computed once for all series with the same runs, as most series of a line have.
        """
        for runs, at, known in self._revisions:
            if runs is series.runs and np.array_equal(at, series.at):
                return known
        labels = map(series.runs.revisions.__getitem__, series.at.tolist())
        found = _digest("\n".join(labels), series.positions.tobytes())
        self._revisions.append((series.runs, series.at, found))
        return found

    def _of(self, name: str, search: Callable[[], Any]) -> Any:
        if name not in self._used:
            self._used[name] = self._known[name] if name in self._known else search()
        return self._used[name]


@cache
def _code() -> str:
    """Return the digest of the program code; results of another version are not reused."""
    return digest_of(PACKAGE) + digest_of(Path(pipeline.__file__).parent)


def _digest(*parts: str | bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        content = part if isinstance(part, bytes) else part.encode()
        whole.update(f"{len(content)} ".encode())
        whole.update(content)
    return whole.hexdigest()


def _load(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the cached results; none if the file is missing, damaged or of other program code."""
    try:
        tree = json.loads(path.read_bytes())
        if tree["code"] == _code():
            return str(tree["inputs"]), dict(tree["found"])
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, TypeError) as error:
        _LOG.warning("the cache %s is damaged, so everything is searched again: %s", path, error)
    return "", {}
