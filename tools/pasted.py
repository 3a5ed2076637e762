"""The workflow files that documents ask a repository to add."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

BLOCK = re.compile(r"```yaml\n# (\.github/\S+)\n(.*?)```", re.DOTALL)


def blocks(document: str) -> list[tuple[str, str]]:
    """Return the files of a document in its order, each as its path and text."""
    return BLOCK.findall((ROOT / document).read_text())


def pasted(document: str) -> dict[str, str]:
    """Return the files of a document by their paths; of one path the last."""
    return dict(blocks(document))


def filled(text: str, owner: str, commit: str) -> str:
    """Return a file with an owner and a commit in place of OWNER and COMMIT."""
    return text.replace("OWNER/", f"{owner}/").replace("@COMMIT", f"@{commit}")
