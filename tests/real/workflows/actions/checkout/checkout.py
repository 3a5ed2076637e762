"""Check REF of the REPOSITORY out TO a folder of the workspace, which is emptied before.

STAND_INS_REPOSITORIES says, as JSON, where the repositories are on this machine.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path


def main() -> None:
    """Do it."""
    source = json.loads(os.environ["STAND_INS_REPOSITORIES"])[os.environ["REPOSITORY"]]
    to = Path(os.environ["GITHUB_WORKSPACE"]) / os.environ["TO"]
    to.mkdir(parents=True, exist_ok=True)
    for each in to.iterdir():
        if each.is_dir():
            shutil.rmtree(each)
        else:
            each.unlink()
    git = ["git", "-c", "advice.detachedHead=false", "-C", str(to)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run(
        [*git, "fetch", "--quiet", source, "+refs/*:refs/remotes/origin/*", "HEAD"], check=True
    )
    ref = os.environ["REF"] or "FETCH_HEAD"
    known = subprocess.run([*git, "cat-file", "-e", ref], check=False, capture_output=True)
    # As a branch or tag of the origin, if it is no commit.
    ref = ref if known.returncode == 0 else f"refs/remotes/origin/{ref.removeprefix('refs/')}"
    subprocess.run([*git, "checkout", "--quiet", ref], check=True)


if __name__ == "__main__":
    main()
