"""The fake as a process: ``python -m tests.fakes.hetzner --port 0``.

It prints its endpoint and the token that it takes, on one line.

``GET /_state`` of its host returns the whole state; ``POST /_faults`` takes a fault as JSON.
"""

from __future__ import annotations

import argparse
import sys

from tests.fakes.hetzner.server import TOKEN, FakeHetzner


def main() -> None:
    """Answer until the process is ended."""
    parser = argparse.ArgumentParser(description="Hetzner Cloud's API on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 for any that is free")
    fake = FakeHetzner(parser.parse_args().port)
    sys.stdout.write(f"{fake.url} {TOKEN}\n")
    sys.stdout.flush()
    with fake:
        fake.serve_forever()


if __name__ == "__main__":
    main()
