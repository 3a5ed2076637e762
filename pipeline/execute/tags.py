"""Where a release is on a branch: its tag in the repository of the branch."""

from __future__ import annotations

from pathlib import Path

from pipeline.errors import UserError
from pipeline.execute.discover import Offer, discover
from pipeline.execute.lines import find_revision
from pipeline.sources import commit_in
from pipeline.targets import find_target


def commit_of(release: str, branch: Offer, cache: Path) -> str:
    """Return the hash of the newest commit of a branch that a release holds.

    Raises UserError for a release that has no tag in the repository of the branch.
    """
    address = branch.supply.coordinates.partition("#")[0]
    kinds = {supply.kind: supply for supply in find_target(branch.target).supplies}
    if "tags" not in kinds:
        raise UserError(f"what the tags of {branch.target} are called is not known")
    offer = Offer(branch.target, kinds["tags"].model_copy(update={"coordinates": address}))
    version = release.partition("#")[0]
    found = find_revision(version, discover([offer], cache, None)[offer])
    if found is None:
        raise UserError(f"{address} has no tag of {branch.target} {version}")
    return commit_in(branch.supply, found.locator, cache)
