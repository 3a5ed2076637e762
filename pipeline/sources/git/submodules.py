"""The submodules of a commit: their folders, repositories and commits."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pipeline.sources.base.git import knows_object, run_git
from pipeline.sources.git.address import submodule_address
from pipeline.text.errors import UserError

_LINK = "160000 commit "
_FILE = ".gitmodules"


class Submodule(NamedTuple):
    """A folder of a commit whose files are a commit of another repository."""

    name: str
    path: str
    address: str
    commit: str


def submodules_of(repository: Path, commit: str, base: str) -> list[Submodule]:
    """Return the submodules of a commit, in the order of their paths.

    ``base`` is the address of the repository, to which relative addresses belong. A submodule that
    the commit tells git not to update is left out, as in a new clone. Raises UserError for an
    address that nightshift refuses.
    """
    if not knows_object(repository, f"{commit}:{_FILE}"):
        return []
    settings = _settings(repository, commit)
    names = {about["path"]: name for name, about in settings.items() if "path" in about}
    found = []
    for path, linked in _links(repository, commit):
        about = settings.get(names.get(path, ""), {})
        if "url" not in about or about.get("update") == "none":
            continue
        if (address := submodule_address(about["url"], base)) is None:
            raise UserError(
                f"the submodule {path} of {base} has an address that nightshift does not use: "
                f"{about['url']!r}; allowed are https, http, git, ssh, and paths in a repository "
                "on this machine; measure a clone that has another address in .gitmodules"
            )
        found.append(Submodule(names[path], path, address, linked))
    return found


def clones_of(submodule: Submodule, clone: Path) -> list[Path]:
    """Return the folders of a local clone that may have a submodule's repository.

    These are the folder of the submodule and that in the clone's git folder.
    """
    found = [clone / submodule.path]
    if ".." not in PurePosixPath(submodule.name).parts:
        git = run_git(clone, "rev-parse", "--absolute-git-dir").strip()
        found.append(Path(git) / "modules" / submodule.name)
    # An empty folder in a clone would be taken for the clone itself.
    return [each for each in found if (each / ".git").exists() or (each / "HEAD").exists()]


def _links(repository: Path, commit: str) -> list[tuple[str, str]]:
    """Return the path and commit of every link to another repository in a commit's files."""
    listed = run_git(repository, "ls-tree", "-r", "-z", "--full-tree", commit).split("\0")
    links = (entry.removeprefix(_LINK) for entry in listed if entry.startswith(_LINK))
    return [(path, linked) for linked, _, path in (link.partition("\t") for link in links)]


def _settings(repository: Path, commit: str) -> dict[str, dict[str, str]]:
    """Return the settings of a commit's submodules, by their names."""
    asked = ("config", "--no-includes", "-z", "--blob", f"{commit}:{_FILE}", "--list")
    settings: dict[str, dict[str, str]] = {}
    for entry in run_git(repository, *asked).split("\0"):
        key, _, value = entry.partition("\n")
        section, _, rest = key.partition(".")
        name, _, setting = rest.rpartition(".")
        if section == "submodule" and name:
            settings.setdefault(name, {})[setting] = value
    return settings
