"""Discovering one DBMS: what its lines take is remembered for the plan."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from pipeline.measure.discover import Discovered, Offer, discovered, remember
from pipeline.model import Revision
from pipeline.text.errors import UserError
from pipeline.use_cases import discover as stage
from pipeline.use_cases.discover import discover_stage
from pipeline.use_cases.measuring import MeasuringContext
from tests.measure.samples import known

CONFIG = """
[paths]
results = "results"

[machine]
class = "tested"

[[line]]
name = "postgres"
target = "postgres"
since = "17.9"

[[line]]
name = "sqlite"
target = "sqlite"
source = "tags"

[[workload]]
name = "cached"
configs = { sqlite = "wal" }
steps = ["scan"]
"""

SQLITE = Revision(target="sqlite", version="3.51.3", order=(3, 51, 3), major="3")


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MeasuringContext:
    monkeypatch.chdir(tmp_path)
    Path("nightshift.toml").write_text(CONFIG)
    remember(known(), tmp_path / "results")

    def found(offers: Iterable[Offer], *_: object, refresh: bool) -> Discovered:
        return dict.fromkeys(offers, (SQLITE,))

    monkeypatch.setattr(stage, "discover", found)
    return MeasuringContext()


def test_the_sources_of_lines_are_remembered_beside_the_others(context: MeasuringContext) -> None:
    found = discover_stage(context, "sqlite", "", refresh=False)
    assert len(found) > 1
    remembered = discovered(context.results)
    names = [(offer.target, offer.supply.name) for offer in remembered]
    assert names == [("postgres", "maven"), ("sqlite", "tags")]
    assert [line.name for line in context.plan().lines] == ["postgres", "sqlite"]


def test_one_source_is_asked(context: MeasuringContext) -> None:
    found = discover_stage(context, "sqlite", "crate", refresh=False)
    assert [offer.supply.name for offer in found] == ["crate"]
    # No line takes its revisions from there.
    assert len(discovered(context.results)) == 1


@pytest.mark.parametrize(
    ("target", "source", "message"),
    [
        ("sqlite", "tag", "sqlite has no source 'tag'; did you mean tags?"),
        ("", "tags", "name the DBMS before --source"),
    ],
)
def test_a_source_that_is_not_there(
    context: MeasuringContext, target: str, source: str, message: str
) -> None:
    with pytest.raises(UserError) as refused:
        discover_stage(context, target, source, refresh=False)
    assert message in str(refused.value)
