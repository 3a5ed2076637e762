"""nightshift as the runners of the tests have it.

On GitHub a runner does one job at a time. Here all are one machine, which measures for one of them
at a time: STAND_INS_MACHINE is its lock, and has the environment of what was measured last, as
JSON. STAND_INS_CRASH names a file: while it is there, a run is
killed as soon as it has left a bundle, and the file with it. With STAND_INS_HOSTILE, benches forge
what they pack.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.real.workflows.adversary import tamper

MEASURE = (["run"], ["pursue"], ["pull-request", "measure"])


def main() -> int:
    """Run the command line, and return its exit code."""
    words = sys.argv[1:]
    measures = any(words[: len(verb)] == verb for verb in MEASURE)
    if not measures or "github-matrix" in words:
        done = subprocess.run([sys.executable, "-m", "pipeline", *words], check=False).returncode
        if "STAND_INS_HOSTILE" in os.environ and words[0] == "pack" and "--batch" in words:
            tamper(Path(words[1]))
        return done
    machine = Path(os.environ["STAND_INS_MACHINE"])
    with machine.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        machine.write_text(json.dumps(dict(os.environ)))
        return measured(words)


def measured(words: list[str]) -> int:
    """Measure, or crash on the way."""
    crash = Path(os.environ.get("STAND_INS_CRASH", "/nonexistent"))
    process = subprocess.Popen([sys.executable, "-m", "pipeline", *words])
    while words[0] == "run" and crash.exists() and process.poll() is None:
        if any(Path("results/bundles").glob("*.tar.zst")):
            crash.unlink()
            process.kill()
        time.sleep(0.01)
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
