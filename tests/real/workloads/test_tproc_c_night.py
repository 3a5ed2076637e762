"""A night of tproc-c, from configuration to the table of NOPM."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipeline.storage.bundle import read_bundle
from pipeline.workloads.base.plans import PLANS_MEMBER, read_plans
from tests.conftest import Release
from tests.nights import Night, make_night

FAMILY = """
family = "tproc-c"
clients = [4]
options = { customers = 60, items = 200 }
"""


@pytest.fixture(scope="module")
def night(
    tmp_path_factory: pytest.TempPathFactory, releases: Callable[[str], Release]
) -> tuple[Night, str]:
    """One release, measured, and its version."""
    version = releases("17").revision.version
    made = make_night(
        tmp_path_factory.mktemp("night"), revisions=[version], steps=["tproc-c"], more=FAMILY
    )
    made.run("nightly")
    return made, version


def test_the_table_has_nopm(night: tuple[Night, str]) -> None:
    made, version = night
    measured = {metric: value for _, step, metric, value in made.rows() if step == "tproc-c"}
    # The rest is the other kinds of transactions, and the new orders that rolled back.
    assert 0.35 < measured["nopm"] / measured["tpm"] < 0.55
    assert measured["tpm"] == pytest.approx(60 * measured["qps"])
    shown = made.run("table", "--metric", "nopm", "--absolute").stdout
    assert f"pg{version.replace('.', '')}_official.x10a" in shown
    assert f"{measured['nopm']:.0f}" in shown.replace(",", "")


def test_the_bundle_has_every_kind_of_transaction(night: tuple[Night, str]) -> None:
    made, _ = night
    (path,) = made.folder.glob("results/bundles/*.tar.zst")
    bundle = read_bundle(path)
    (record,) = bundle.manifest.steps
    said = bundle.files[f"{record.folder}/stdout.txt"].decode()
    for kind in ("new-order", "rolled-back", "payment", "order-status", "delivery", "stock-level"):
        assert f"nightshift tally-histogram kind={kind} " in said
    assert [phase.name for phase in bundle.manifest.phases] == [
        "start",
        "load",
        "maintenance",
        "plans",
        "stop",
    ]
    plans = read_plans(bundle.files[PLANS_MEMBER].decode())["tproc-c"]
    (stock_level,) = (plan for text, plan in plans.items() if "DISTINCT s_i_id" in text)
    assert "order_line" in stock_level
    assert "s_quantity < ?" in stock_level
