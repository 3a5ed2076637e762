"""Keep what is in the folder FROM as the artifact NAME of this run, which is there once only."""

import os
import shutil
import sys
from pathlib import Path


def main() -> None:
    """Do it."""
    run = Path(os.environ["STAND_INS_ARTIFACTS"]) / os.environ["GITHUB_RUN_ID"]
    to, source = run / os.environ["NAME"], Path(os.environ["FROM"])
    if not any(path.is_file() for path in source.rglob("*")):
        sys.exit(f"no files in {source}" if os.environ["NONE"] == "error" else 0)
    if to.exists():
        if os.environ["OVERWRITE"] != "true":
            sys.exit(f"an artifact {to.name} is there already")
        shutil.rmtree(to)
    shutil.copytree(source, to)


if __name__ == "__main__":
    main()
