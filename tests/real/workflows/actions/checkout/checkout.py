"""Check REF of the REPOSITORY out TO a folder of the workspace, which is emptied before.

STAND_INS_REPOSITORIES says, as JSON, where the repositories are on this machine. What is fetched is
what actions/checkout v7.0.1 fetches: src/git-source-provider.ts, getSource, lines 174 to 272, and
src/ref-helper.ts. Unless PERSIST is true, nothing more can be fetched afterwards: the action takes
its credentials away, and a private repository asks for them.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

SERVES = "git -c uploadpack.allowFilter=true -c uploadpack.allowAnySHA1InWant=true upload-pack"
"""GitHub serves filters, and any commit by its hash."""

TAGS = "+refs/tags/*:refs/tags/*"


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

    def git(*words: str) -> str:
        command = ["git", "-c", "advice.detachedHead=false", "-C", str(to), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    git("init", "--quiet")
    git("remote", "add", "origin", f"file://{source}")
    git("config", "remote.origin.uploadpack", SERVES)
    fetch = ["-c", "protocol.version=2", "fetch", "--prune", "--no-recurse-submodules"]
    sparse = os.environ["SPARSE"].split()
    if found := os.environ["FILTER"] or "blob:none" * bool(sparse):
        fetch.append(f"--filter={found}")
    ref = os.environ["REF"]
    commit = ref if re.fullmatch("[0-9a-f]{40}", ref) else ""
    if (depth := int(os.environ["DEPTH"])) > 0:
        # Of an unqualified name the action fetches the branch and the tag that are there.
        wanted = [commit or (ref if ref.startswith("refs/") else _qualified(source, ref))]
        wanted = [each if each == commit else f"+{each}:{_place(each)}" for each in wanted]
        git(*fetch, "--no-tags", f"--depth={depth}", "origin", *wanted)
    else:
        named = ref if ref.startswith("refs/pull/") else "" if ref else "HEAD"
        pull = [f"+{named}:{_place(named)}"] if named else []
        git(*fetch, "origin", "+refs/heads/*:refs/remotes/origin/*", TAGS, *pull)
        if commit and not _knows(to, commit):
            git(*fetch, "--no-tags", "origin", commit)
    if sparse:
        assert os.environ["CONE"] == "false", "no workflow of ours has the other kind"
        git("config", "core.sparseCheckout", "true")
        (to / ".git" / "info" / "sparse-checkout").write_text("\n".join(["", *sparse, ""]))
    here = commit or _place(ref if ref.startswith("refs/") else _qualified(source, ref))
    git("checkout", "--quiet", "--force", "--detach", here)
    if os.environ["PERSIST"] != "true":
        git("remote", "set-url", "origin", "file:///without-credentials")


def _qualified(source: str, ref: str) -> str:
    """Return the full name of a branch or tag; HEAD without a name."""
    if not ref:
        return "HEAD"
    listed = subprocess.run(
        ["git", "-C", source, "for-each-ref", "--format=%(refname)", f"refs/*/{ref}"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    return listed[0]


def _place(ref: str) -> str:
    """Return where a reference of the origin is in the clone."""
    if ref == "HEAD":
        return "refs/remotes/origin/HEAD"
    if ref.startswith("refs/heads/"):
        return f"refs/remotes/origin/{ref.removeprefix('refs/heads/')}"
    return ref.replace("refs/pull/", "refs/remotes/pull/")


def _knows(folder: Path, commit: str) -> bool:
    asked = ["git", "-C", str(folder), "rev-parse", "--verify", "--quiet", f"{commit}^{{object}}"]
    return subprocess.run(asked, check=False, capture_output=True).returncode == 0


if __name__ == "__main__":
    main()
