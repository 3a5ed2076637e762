"""The source code of a revision with a patch, in a folder of its own."""

from __future__ import annotations

from pathlib import Path

from pipeline.measure.build import Patch, apply_patch, supply_of
from pipeline.model import Revision, digest
from pipeline.sources import source_for
from pipeline.targets.base.archives import source_members, unpacked
from pipeline.targets.base.compile import CompileError
from pipeline.text.errors import UserError


def patched_source(
    revision: Revision, name: str, text: str, cache: Path, *, reverse: bool = False
) -> Path:
    """Return a folder in the cache with the source code of a revision and a patch applied.

    ``name`` is the name of the patch for messages. With ``reverse``, the patch is undone. Raises
    UserError for a prebuilt release, and for a patch that does not apply.
    """
    supply = supply_of(revision)
    if supply.prebuilt:
        raise UserError(
            f"{revision.target} {revision.label} is prebuilt, so {name} cannot be applied; measure "
            "a fixed revision with --revision"
        )
    identity = digest([revision.target, revision.version, text, reverse])[:10]
    folder = cache / "fixes" / f"{revision.target}-{identity}" / f"fix-{identity}"
    if folder.exists():
        return folder
    fetched = source_for(supply, cache).fetch(
        revision.locator or revision.version, cache / "downloads"
    )
    patch = Patch(target=revision.target, name=name, text=text)
    try:
        with unpacked(fetched.path, folder, source_members) as tree:
            apply_patch(patch, tree, reverse=reverse)
    except CompileError as error:
        raise UserError(f"{error}; it must fit {revision.target} {revision.label}") from error
    finally:
        if fetched.scratch:
            fetched.path.unlink(missing_ok=True)
    return folder
