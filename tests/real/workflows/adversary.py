"""Tampers with what a bench packed: an outcome of 2099, a bundle of an undeclared class."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from pipeline.storage.bundle import list_bundles, pack_bundle, read_bundle
from pipeline.transfer.folder import SUMS, write_sums
from tests.transfer.hub import digests

FUTURE = "2099-01-01T00:00:00+00:00"
UNDECLARED = "undeclared"


def tamper(packed: Path) -> None:
    """Forge files in a packed folder, each with a name that a hub may ask for.

    The folder with any other name, such as that of a journal, is refused as a whole.
    """
    made = [*packed.glob("experiments/confirm-*"), packed / "experiments/confirm-x"]
    made[0].mkdir(parents=True, exist_ok=True)
    outcome = {"fingerprint": made[0].name.split("-")[1], "at": FUTURE, "verdict": "rejected"}
    text = json.dumps({**outcome, "blocks": 5, "minutes": 3.0})
    (made[0] / "outcome.json").write_text(text)
    for path in list(list_bundles(packed / "bundles")):
        bundle = read_bundle(path)
        machine = bundle.manifest.machine.model_copy(update={"machine_class": UNDECLARED})
        manifest = bundle.manifest.model_copy(update={"machine": machine})
        forgery = path.with_name(f"{UNDECLARED}-{path.name}")
        shutil.copy(path, forgery)
        pack_bundle(forgery, manifest, dict(bundle.files))
    (packed / SUMS).unlink(missing_ok=True)
    write_sums(packed, digests(packed))
