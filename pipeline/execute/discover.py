"""Discover: which revisions of each target can be had."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.errors import UserError
from pipeline.model import Revision
from pipeline.sources import source_for
from pipeline.sources.cached import HOUR
from pipeline.targets import find_target

_FILE = "discovered.json"

Discovered = Mapping[str, tuple[Revision, ...]]
"""The revisions of each target, oldest first."""


def discover(
    targets: Sequence[str], cache: Path, results: Path, *, refresh: bool = False
) -> Discovered:
    """Ask each target's source for its releases and remember the answer in ``results``.

    A source that was asked within the last hour is not asked again, unless ``refresh`` is set.
    Raises UserError when a source cannot be reached and nothing is remembered of it.
    """
    found: dict[str, tuple[Revision, ...]] = {}
    for name in dict.fromkeys(targets):
        target = find_target(name)
        source = source_for(target.coordinates, cache, max_age=0.0 if refresh else HOUR)
        found[name] = target.revisions(source.versions())
    results.mkdir(parents=True, exist_ok=True)
    remembered = {
        name: [revision.model_dump(mode="json") for revision in revisions]
        for name, revisions in found.items()
    }
    partial = results / f"{_FILE}.partial"
    partial.write_text(json.dumps(remembered, indent=1))
    partial.rename(results / _FILE)
    return found


def discovered(results: Path) -> Discovered:
    """Return what the last :func:`discover` found. Raises UserError before the first."""
    path = results / _FILE
    try:
        remembered = json.loads(path.read_text())
        return {
            name: tuple(Revision.model_validate(row) for row in rows)
            for name, rows in remembered.items()
        }
    except FileNotFoundError as error:
        raise UserError(f"no releases are known in {results} yet; run `nightshift discover`") from (
            error
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{path} is damaged; run `nightshift discover` again") from error
