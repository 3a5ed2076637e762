"""Sites of stores with known changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from pipeline.config import DetectSection
from pipeline.explain.explanation import Explanation
from pipeline.measure.plan import Plan
from pipeline.model import CallCost, FunctionCost, Mode, Regression, Step, StepCounts
from pipeline.model.counts import INSTRUCTIONS
from pipeline.regressions.detect import detect_all
from pipeline.regressions.detected import Detected
from tests.site.explanations import counted_explanation
from tests.site.page_store import METRICS, STEPS, add_functions, make_store
from tests.site.pages import site_page
from tests.site.test_page import MINORS, NOW, fails, level
from tests.storage.conftest import asked, copied, store, store_url

__all__ = ["asked", "copied", "store", "store_url"]

BRANCH = tuple(f"19.2026020{day}" for day in range(1, 8))
HOSTILE = "<img src=x onerror=alert(1)>&\"'"
HOSTILE_GROUP = "</script><script>alert(2)</script>"


@dataclass(frozen=True)
class Made:
    """A store and its site."""

    folder: Path
    store: Engine
    plan: Plan
    detected: Detected

    @property
    def page(self) -> Path:
        return self.folder / "site" / "index.html"

    @property
    def report(self) -> Path:
        return self.folder / "site" / "night.html"


def make_site(folder: Path, store: Engine, plan: Plan) -> Made:
    """Search a store, and write its site."""
    detected = detect_all(store, plan, DetectSection())
    made = Made(folder, store, plan, detected)
    issues = {
        one.fingerprint: folder / "issues" / f"{one.fingerprint}.md" for one in detected.regressions
    }
    page = site_page(
        folder / "site",
        store,
        plan,
        detected,
        NOW,
        issues=issues,
    )
    assert page == made.page
    return made


@pytest.fixture(scope="session")
def night(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Lines with known changes, failures and a control, with 1 and with 4 clients."""
    folder = tmp_path_factory.mktemp("night")
    lines = {"minors": MINORS, "control": ("17.9", "17.10", "17.10#2"), "branch": BRANCH}
    return make_site(folder, *make_store(folder, lines, level=level, fails=fails, clients=(1, 4)))


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Names that would be programs, were they not taken as text."""
    folder = tmp_path_factory.mktemp("hostile")
    steps = (
        *STEPS,
        Step(name=HOSTILE, group=HOSTILE_GROUP, unit="<b>rows</b>"),
    )
    labels = ("17.5", f"17.6{HOSTILE}", "17.7")
    return make_site(folder, *make_store(folder, {HOSTILE: labels}, steps=steps, repetitions=2))


def insert_level(step: str, position: int, metric: str) -> float:
    """From the third revision on qr500 does not sustain its rate."""
    if step == "qr500" and position >= 2:
        return {"sla": 0.8, "inserts/s": 0.8}.get(metric, 1.0)
    return 1.0


@pytest.fixture(scope="session")
def inserts(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """An Insert Benchmark whose last step misses its SLA from 17.7 on."""
    folder = tmp_path_factory.mktemp("inserts")
    steps = tuple(Step(name=name, group="reads and writes", unit="") for name in ("qr100", "qr500"))
    metrics: dict[str, Any] = METRICS | {"sla": 1.0, "inserts/s": 500.0, "inserts_target": 500.0}
    store, plan = make_store(
        folder,
        {"ib": ("17.5", "17.6", "17.7", "17.8")},
        steps=steps,
        level=insert_level,
        metrics=metrics,
    )
    return make_site(folder, store, plan)


GROWN = {"heap_getnext": 1200.0, "slot_deform": 900.0, "ExecScan": 400.0}
HOSTILE_FUNCTION = "rocksdb::Get(rocksdb::Slice const&)<img src=x onerror=alert(3)>"


def counted_costs(step: str, place: int) -> dict[str, float]:
    """From the fourth revision on heap_getnext executes more, and another function is there."""
    many = {f"{step[:4]}_{number}": 60.0 - number for number in range(15)}
    grown = place >= 3
    return {
        **many,
        **GROWN,
        "heap_getnext": GROWN["heap_getnext"] + 600.0 * grown,
        **({HOSTILE_FUNCTION: 50.0} if grown else {}),
    }


@pytest.fixture(scope="session")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A line that is timed and counted, with functions, and an explained regression."""
    folder = tmp_path_factory.mktemp("counted")
    store, plan = make_store(
        folder,
        {"minors": MINORS},
        repetitions=1,
        modes=(Mode.TIME, Mode.COUNT),
        level=lambda step, place, metric: (
            1.15 if (metric, place >= 3, step) == (INSTRUCTIONS, True, "scan_range=100") else 1.0
        ),
    )
    for step in STEPS[1:]:
        for place, revision in enumerate(MINORS):
            add_functions(store, step.name, revision, counted_costs(step.name, place))
    detected = detect_all(store, plan, DetectSection())
    made = Made(folder, store, plan, detected)
    explanations = [(one, explained(one)) for one in detected.regressions]
    site_page(folder / "site", store, plan, detected, NOW, explanations=explanations)
    return made


def explained(regression: Regression) -> Explanation:
    """Explain a counted regression by a function that grew and one that is new."""
    before, after = (
        step_counts({**counted_costs("scan", place), "main": 0.0}, "main") for place in (2, 3)
    )
    return counted_explanation(regression, before, after)


def step_counts(costs: dict[str, float], caller: str) -> StepCounts:
    """Return the counts of a step whose functions are all called by one."""
    names, whole = list(costs), sum(costs.values())
    return StepCounts(
        operations=(100.0, 200.0),
        instructions=whole,
        functions=tuple(
            FunctionCost(
                function=name,
                binary="postgres",
                self_cost=cost,
                inclusive_cost=whole if name == caller else cost,
            )
            for name, cost in costs.items()
        ),
        calls=tuple(
            CallCost(names.index(caller), place, costs[name])
            for place, name in enumerate(names)
            if name != caller
        ),
    )
