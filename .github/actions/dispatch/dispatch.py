"""Start WORKFLOW of GITHUB_REPOSITORY on its default branch, by GitHub's REST API.

The inputs for a PULL_REQUEST are its number, head and the tip of the base as they are now: what is
pushed later is not what a maintainer asked for. Nothing is started where ASKED_BY may not write.
"""

import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

MAY_ASK = ("admin", "maintain", "write")
"""Permissions of those who could run any code on the runners, as they may push a workflow."""


def ask(path: str, body: object = None) -> Any:
    """Ask about the repository, or write to it, and return the answer."""
    request = urllib.request.Request(  # noqa: S310 - the address is the runner's own
        f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - as above
        text = answer.read()
    return json.loads(text) if text else None


def main() -> None:
    """Do it."""
    inputs: dict[str, str] = {}
    if number := os.environ["PULL_REQUEST"]:
        who = os.environ["ASKED_BY"]
        found = ask(f"/collaborators/{urllib.parse.quote(who, safe='')}/permission")
        if found["permission"] not in MAY_ASK:
            sys.stdout.write(f"{who} may not write to the repository, so nothing is started\n")
            return
        pull = ask(f"/pulls/{int(number)}")
        inputs = {"number": number, "base": pull["base"]["sha"], "head": pull["head"]["sha"]}
    workflow = os.environ["WORKFLOW"]
    branch = ask("")["default_branch"]
    ask(f"/actions/workflows/{workflow}/dispatches", {"ref": branch, "inputs": inputs})
    sys.stdout.write(f"started {workflow} on {branch} {inputs or ''}\n")


if __name__ == "__main__":
    try:
        main()
    except urllib.error.HTTPError as error:
        sys.exit(f"GitHub answers {error.code} to {error.url}: {error.reason}")
