"""The text of a script that shows a regression on another machine, without nightshift.

The script installs two versions of a DBMS, measures one step with plain SQL in both, and ends with
one line: the ratio of the costs, and whether it shows the regression.
"""

from __future__ import annotations

from enum import StrEnum

from pipeline.model import Frozen
from pipeline.model.counts import LONGER
from pipeline.targets.base.script import ScriptLines

PAIRS = 7
"""Pairs of runs that a script times; the ratio is the median of theirs."""

SHOWS, SHOWS_NOT = "shows", "does not show"
"""The last words of a script's output."""

_TO_USER = (
    '[ "$(id -u)" -ne 0 ] || exec setpriv --reuid=65534 --regid=65534 --clear-groups '
    'sh -s -- "$@" <"$0"'
)
"""Runs the script as nobody if root calls it, because the DBMS refuses root."""

_COUNT = (
    'count() { v="valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null" '
    'run "$1" "$2" 2>&1 >/dev/null | sed -n \'s/,//g; s/.*I *refs: *//p\'; }'
)

_JUDGE = (
    'awk \'{{ r = $1 / $2; printf "ratio %.4f: %s\\n", r, '
    '(r >= {limit:.4f} ? "shows" : "does not show") }}\''
)


class Instrument(StrEnum):
    """What a script measures: counted instructions, or time."""

    INSTRUCTIONS = "instructions"
    TIME = "time"


class ScriptTask(Frozen):
    """What a script compares, and from which ratio on it shows the regression.

    ``title`` is its first line of comment. ``good`` and ``bad`` are the versions as their source
    names them. A script that counts runs ``events`` events, and a multiple of them, and takes the
    difference.
    """

    title: str
    good: str
    bad: str
    instrument: Instrument
    events: int
    limit: float


def script_text(task: ScriptTask, lines: ScriptLines, installed: str = "") -> str:
    """Return the text of a script.

    With ``installed``, the script uses the versions in that folder instead of downloading them.
    """
    get = lines.get if not installed else (f'get() {{ ln -s "{installed}/$1" "$1"; }}',)
    needs = " ".join((*lines.needs, *_tools(task.instrument)))
    return "\n".join(
        (
            "#!/bin/sh",
            f"# {task.title}",
            f"# `sh FILE [VERSION]` compares {task.bad}, or another version, with {task.good}. "
            f"It needs the Debian packages {needs}.",
            *((_TO_USER,) if lines.refuses_root else ()),
            'set -eu; d=$(mktemp -d); trap \'rm -rf "$d"\' EXIT; cd "$d"; v=',
            *get,
            *lines.work,
            *_measured(task),
            "",
        )
    )


def install_text(task: ScriptTask, lines: ScriptLines, folder: str) -> str:
    """Return the text of a script that only installs both versions, in a folder."""
    return "\n".join((f'set -eu; cd "{folder}"', *lines.get, _both(task), ""))


def _both(task: ScriptTask) -> str:
    return f'get bad "${{1:-{task.bad}}}" & get good {task.good}; wait "$!"'


def _measured(task: ScriptTask) -> tuple[str, ...]:
    judged = _JUDGE.format(limit=task.limit)
    if task.instrument is Instrument.INSTRUCTIONS:
        cost = (
            f'cost() {{ load "$1"; a=$(count "$1" {task.events}); '
            f'b=$(count "$1" {LONGER * task.events}); expr "$b" - "$a"; }}'
        )
        both = f'{_both(task)}; cost bad >bad.n & cost good >good.n; wait "$!"'
        return (_COUNT, cost, both, f'echo "$(cat bad.n) $(cat good.n)" | {judged}')
    time = (
        "took() { s=$(date +%s%N); "
        f'run "$1" {task.events} >/dev/null; e=$(date +%s%N); expr "$e" - "$s"; }}'
    )
    numbers = " ".join(map(str, range(1, PAIRS + 1)))
    pairs = (
        f'for i in {numbers}; do echo "$(took bad) $(took good)"; done '
        f"| awk '{{ print $1 / $2, $0 }}' | sort -n | sed -n '{PAIRS // 2 + 1}s/^[^ ]* //p' "
        f"| {judged}"
    )
    return (time, f"{_both(task)}; load bad; load good", pairs)


def _tools(instrument: Instrument) -> tuple[str, ...]:
    return ("valgrind",) if instrument is Instrument.INSTRUCTIONS else ()
