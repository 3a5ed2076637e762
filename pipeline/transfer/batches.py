"""Batches: what the hub asks one bench to do, recorded before the bench gets it.

``results/batches.jsonl`` is append-only, with one JSON object per line. A bench answers a batch
with a folder that names it in ``batch.json``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from pydantic import AwareDatetime

from pipeline.files.json_file import read_json
from pipeline.files.jsonl_log import Appended
from pipeline.model import Frozen, digest
from pipeline.text.errors import UserError

FILE = "batches.jsonl"
"""The file name in the results folder."""

CLAIM = "batch.json"
"""The file of a packed folder that names the batch it answers."""

LONGEST_CLAIM = 1 << 12
"""Maximum size of the claim in bytes."""


class Batch(Frozen):
    """What the hub asked one bench: cells to measure, or regressions to confirm and bisect.

    ``cells`` are prefixes of cell keys of the plan, ``regressions`` are fingerprints. A bundle that
    began before ``at`` does not answer the batch.
    """

    id: str
    at: AwareDatetime
    machine_class: str
    cells: tuple[str, ...] = ()
    regressions: tuple[str, ...] = ()


class BatchClaim(Frozen):
    """The batch that a folder of results answers, as the bench claims."""

    id: str


class Batches(Appended[Batch]):
    """All batches that the hub has handed out."""

    def __init__(self, results: Path) -> None:
        super().__init__(results / FILE, Batch, "a batch")

    def hand_out(self, batches: Sequence[Batch]) -> None:
        """Record batches, unless an earlier attempt at the same workflow run did so."""
        known = {batch.id for batch in self.read()}
        self.append([batch for batch in batches if batch.id not in known])

    def find(self, name: str) -> Batch:
        """Return a batch by its id. Raises UserError if the hub never handed it out."""
        for batch in self.read():
            if batch.id == name:
                return batch
        raise UserError(
            f"batch {name[:80]!r} was not handed out by this hub; pack with the id of a batch "
            "that `plan` or `pursue` printed"
        )


def batch_of(
    name: str,
    machine_class: str,
    at: datetime,
    cells: Sequence[str] = (),
    regressions: Sequence[str] = (),
    *,
    run: str = "",
) -> Batch:
    """Return the batch whose id begins with ``name``.

    ``run`` is the workflow run that hands out the batch. Another attempt of that run with the same
    request gets the same id, so bundles of the first attempt count. Without a run the id is new.
    """
    asked = digest([name, run or at.isoformat(), list(cells), list(regressions)])
    return Batch(
        id=f"{name}-{asked[:8]}",
        at=at,
        machine_class=machine_class,
        cells=tuple(cells),
        regressions=tuple(regressions),
    )


def claimed(path: Path) -> str:
    """Return the id of the batch that a folder of results answers; empty without one."""
    if path.exists() and path.stat().st_size > LONGEST_CLAIM:
        raise UserError(
            f"{path} holds more than the id of a batch, so it is refused; pack the results again "
            "with `nightshift pack`"
        )
    claim = read_json(path, BatchClaim.model_validate_json, "pack again")
    return "" if claim is None else claim.id
