"""Read results of Go benchmarks: the text of ``go test -bench``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pipeline.formats.base import COST, SCORE, ImportedValue, imported_value, label_of, medians

_RESULT = re.compile(r"(Benchmark\S*?)(?:-\d+)?\s+\d+\s+(\S.*)")
_KEY = re.compile(r"([a-z][^\s:A-Z]*):\s+(.*\S)")
_UNIT = re.compile(r"Unit\s+(\S+)\s+.*\bbetter=(higher|lower)")
_NAME = len("Benchmark")


def read(text: str, file: Path) -> Sequence[ImportedValue]:
    """Read all values of each Go benchmark, as medians over ``-count``.

    Lines ``commit: NAME`` and ``Unit NAME better=higher`` have the meaning that the tool benchstat
    gives them. For a unit without such a line less is better, unless the unit is a rate.
    """
    group, revision = "", ""
    better: dict[str, bool] = {}
    found = []
    for line in text.splitlines():
        if (result := _RESULT.fullmatch(line.strip())) is not None:
            name, words = result[1][_NAME:], result[2].split()
            for value, unit in zip(words[::2], words[1::2], strict=False):
                more = better.get(unit, unit.endswith("/s"))
                one = imported_value(name, value, unit, more=more, group=group, revision=revision)
                # A step has one value of a metric.
                own = one.metric in (SCORE, COST)
                found.append(one._replace(step=f"{name} {unit}") if own else one)
        elif (known := _UNIT.fullmatch(line.strip())) is not None:
            better[known[1]] = known[2] == "higher"
        elif (key := _KEY.fullmatch(line)) is not None:
            group = key[2] if key[1] == "pkg" else group
            revision = label_of(key[2]) if key[1] == "commit" else revision
    return medians(found)
