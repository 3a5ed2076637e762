"""The fake as a process of its own: ``python -m tests.fakes.github --port 0 --state FILE``.

It prints its address, answers until SIGTERM or SIGINT, and then writes its state as JSON.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path

from tests.fakes.github.control import Seed, sow
from tests.fakes.github.server import GithubServer


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.github", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--seed", type=Path, help="JSON of what is there at first")
    parser.add_argument("--state", type=Path, help="where the state goes in the end")
    options = parser.parse_args()
    # Before there are threads, so that every one of them leaves the signals to this one.
    stops = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    fake = GithubServer()
    if options.seed:
        sow(fake, Seed.model_validate_json(options.seed.read_text()))
    with fake.serving(options.port):
        sys.stdout.write(f"{fake.url}\n")
        sys.stdout.flush()
        signal.sigwait(stops)
    if options.state:
        options.state.write_text(json.dumps(fake.state(), indent=1))


if __name__ == "__main__":
    main()
