"""What a command costs before it works: processor time of verbs that only look.

Each command line is run in a process of its own, as the console script of this environment runs
it, once to fill the caches and then as often as asked. Prints the median and the range of user and
system time together, beside the limit that a verb is held to.

    python -m benchmarks.startup
    python -m benchmarks.startup --folder ~/bench --quick   # of a folder with other results
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import sysconfig
from pathlib import Path

LIMITS = {
    "--help": 0.3,
    "nights": 0.4,
    "lease status": 0.4,
    "regressions": 0.8,
    "plan": 0.8,
    "table": 0.8,
}
"""Processor time in seconds, by command line."""

PLANNING = ("plan", "table")
"""Those that take --quick."""


def main() -> None:
    """Measure every command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=9, help="of each command line")
    parser.add_argument(
        "--folder", type=Path, default=Path(), help="that holds nightshift.toml and results"
    )
    parser.add_argument("--quick", action="store_true", help="the results are of nightly --quick")
    settings = parser.parse_args()
    print(f"{'command':<14}  {'median s':>8}  {'range s':>13}  {'limit s':>7}")
    over = False
    for command, limit in LIMITS.items():
        words = command.split() + ["--quick"] * (settings.quick and command in PLANNING)
        spent(words, settings.folder)
        times = sorted(spent(words, settings.folder) for _ in range(settings.runs))
        median = statistics.median(times)
        over |= median > limit
        print(
            f"{command:<14}  {median:8.2f}  {times[0]:5.2f} to {times[-1]:4.2f}  {limit:7.1f}"
            f"{'  over' if median > limit else ''}"
        )
    sys.exit(over)


def spent(words: list[str], folder: Path) -> float:
    """Run a command line in a folder; return its processor time in seconds."""
    script = Path(sysconfig.get_path("scripts")) / "nightshift"
    # Set, every run would compile every module anew.
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(
        [script, *words], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode:
        sys.exit(f"{script} {' '.join(words)} failed:\n{ran.stderr}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    main()
