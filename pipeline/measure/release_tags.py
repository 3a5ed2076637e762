"""Find the commit of a release on a branch, by the release's tag in the repository."""

from __future__ import annotations

from pathlib import Path

from pipeline.measure.discover import Offer, discover, find_revision
from pipeline.sources import commit_in
from pipeline.targets import find_target
from pipeline.text.errors import UserError


def commit_of(release: str, branch: Offer, cache: Path) -> str:
    """Return the hash of the newest commit of a branch that a release contains.

    Raises UserError for a release without a tag in the repository of the branch.
    """
    address = branch.supply.coordinates.partition("#")[0]
    kinds = {supply.kind: supply for supply in find_target(branch.target).supplies}
    if "tags" not in kinds:
        raise UserError(
            f"the names of the release tags of {branch.target} are unknown; name a commit"
        )
    offer = Offer(branch.target, kinds["tags"].model_copy(update={"coordinates": address}))
    version = release.partition("#")[0]
    found = find_revision(version, discover([offer], cache, None)[offer])
    if found is None:
        raise UserError(f"{address} has no tag for {branch.target} {version}; name a commit")
    return commit_in(branch.supply, found.locator, cache)
