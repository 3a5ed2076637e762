"""Put the artifact NAME, or those that PATTERN fits, of a RUN into the folder TO.

Those of this run are where upload-artifact's stand-in left them. Of another run it takes a TOKEN,
and they come from GitHub's API, whole as they are if they are to stay ZIPPED.
"""

import fnmatch
import io
import json
import os
import shutil
import sys
import urllib.request
import zipfile
from pathlib import Path


def main() -> None:
    """Do it."""
    name, to = os.environ["NAME"], Path(os.environ["TO"])
    run = os.environ["RUN"]
    if run != os.environ["GITHUB_RUN_ID"]:
        other_run(run, name, to)
        return
    folder = Path(os.environ["STAND_INS_ARTIFACTS"]) / run
    if name:
        if not (folder / name).is_dir():
            sys.exit(f"there is no artifact {name}")
        shutil.copytree(folder / name, to, dirs_exist_ok=True)
        return
    matches = [
        each
        for each in (folder.iterdir() if folder.is_dir() else ())
        if fnmatch.fnmatch(each.name, os.environ["PATTERN"])
    ]
    for each in matches:
        # A single match goes straight into the path (v8.0.1, src/download-artifact.ts:189-193).
        place = to if len(matches) == 1 else to / each.name
        shutil.copytree(each, place, dirs_exist_ok=True)


def other_run(run: str, name: str, to: Path) -> None:
    """Ask the API for the newest artifact of a name."""
    place = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/actions/runs"
    found = json.loads(ask(f"{place}/{run}/artifacts?name={name}"))["artifacts"]
    if not found:
        sys.exit(f"run {run} has no artifact {name}")
    content = ask(max(found, key=lambda each: each["id"])["archive_download_url"])
    to.mkdir(parents=True, exist_ok=True)
    if os.environ["ZIPPED"] == "true":
        (to / f"{name}.zip").write_bytes(content)
    else:
        zipfile.ZipFile(io.BytesIO(content)).extractall(to)


def ask(address: str) -> bytes:
    """Ask the API; the storage that it redirects to is not shown the token."""
    request = urllib.request.Request(address)  # noqa: S310 - the fake's
    request.add_unredirected_header("Authorization", f"Bearer {os.environ['TOKEN']}")
    with urllib.request.urlopen(request) as answer:  # noqa: S310 - the fake's
        body: bytes = answer.read()
    return body


if __name__ == "__main__":
    main()
