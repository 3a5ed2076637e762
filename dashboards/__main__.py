"""Write the dashboards: ``python -m dashboards``; ``--check`` verifies the committed files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dashboards.board import as_json
from dashboards.catalogue import DASHBOARDS
from dashboards.variables import addresses

COMMITTED = Path(__file__).parent / "json"


def main() -> int:
    """Write every dashboard, or compare; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m dashboards", description=__doc__)
    parser.add_argument("--output", type=Path, default=COMMITTED, help="folder to write to")
    parser.add_argument("--check", action="store_true", help="compare with it, write nothing")
    parser.add_argument("--report-url", default="", help="where the report page is served")
    parser.add_argument("--site-url", default="", help="where the trend site is served")
    parser.add_argument("--issues-url", default="", help="where issues can be searched with ?q=")
    given = parser.parse_args()
    constants = addresses(given.report_url, given.site_url, given.issues_url)
    texts = {f"{name}.json": as_json(make(constants)) for name, make in DASHBOARDS.items()}
    if given.check:
        return _compare(given.output, texts)
    given.output.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (given.output / name).write_text(text)
    return 0


def _compare(folder: Path, texts: dict[str, str]) -> int:
    committed = {path.name: path.read_text() for path in folder.glob("*.json")}
    names = committed.keys() | texts.keys()
    different = sorted(name for name in names if committed.get(name) != texts.get(name))
    if different:
        sys.stderr.write(
            f"{', '.join(different)} in {folder}: not what the code makes; run make dashboards\n"
        )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
