"""A bench that is an adversary: the hub keeps its state, but for the bench's own batch."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from pipeline.measure.run import load_builds
from pipeline.model import Control, Manifest, Origin, Step
from pipeline.storage.bundle import bundle_path, list_bundles, pack_bundle, read_bundle
from pipeline.storage.journal import Event, EventKind, Journal
from pipeline.transfer.assignment import MOST_ATTEMPTS, SKEW
from pipeline.transfer.batches import CLAIM
from pipeline.transfer.folder import SUMS, write_sums
from pipeline.transfer.places.base import LARGEST
from tests.simulated import simulate
from tests.transfer.hub import CLASSES, Hub, digests, measured, slow_from


@pytest.fixture(scope="module")
def night(server_root: Path) -> Iterator[Hub]:
    """A hub with a confirmed and a suspected regression, and the boxes of honest benches."""
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("NIGHTSHIFT_MACHINE_CLASS", raising=False)
        folder = Path(mkdtemp(dir=server_root))
        folder.chmod(0o755)
        simulation = simulate(folder, patched)
        simulation.machine_class = "hub"
        simulation.noise = 0.01
        simulation.configure(line="newest = 20", repetitions=3, more=CLASSES)
        hub = Hub(simulation)
        slow_from(simulation, 4, 8)
        measured(hub, 6)
        ((hub.confirmed, state),) = hub.states().items()
        assert state == "suspected"
        job = hub.hand_out("pursue")["small"]
        hub.bench("small", "first", "pursue")
        assert hub.collect(hub.packed("small", "first", job["id"])).code == 0
        assert hub.states() == {hub.confirmed: "confirmed"}
        measured(hub, 4)
        (hub.suspected,) = hub.states().keys() - {hub.confirmed}
        hub.jobs["pursue"] = hub.hand_out("pursue")["small"]
        hub.bench("small", "state", "pursue")
        hub.packed("small", "state", hub.jobs["pursue"]["id"])
        simulation.commit()
        simulation.run("discover")
        hub.jobs |= hub.hand_out("plan")
        for name in ("small", "large"):
            hub.bench(name, "cells", "run", "--cell", hub.jobs[name]["cells"])
            hub.packed(name, "cells", hub.jobs[name]["id"])
        shutil.copytree(hub.results, folder / "before")
        yield hub


@pytest.fixture
def hub(night: Hub) -> Hub:
    """The hub as it was before anything was collected."""
    shutil.rmtree(night.results)
    shutil.copytree(night.folder / "before", night.results)
    return night


@dataclass
class Box:
    """A folder that a bench sends, to be tampered with: a copy of an honest one."""

    hub: Hub
    folder: Path
    lines: list[str] = field(default_factory=list)
    unlisted: set[str] = field(default_factory=set)

    @property
    def bundle(self) -> Path:
        """The first bundle of the night."""
        return next(list_bundles(self.folder / "bundles"))

    @property
    def experiment(self) -> Path:
        """The folder of the experiment."""
        return next((self.folder / "experiments").iterdir())

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a file into the box."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def claim(self, batch: str) -> None:
        """Claim to answer a batch."""
        self.write(CLAIM, json.dumps({"id": batch}))

    def forge(self, path: Path | None = None, **changes: Any) -> None:
        """Change the manifest of a bundle, which keeps its name unless that changes."""
        path = self.bundle if path is None else path
        bundle = read_bundle(path)
        manifest = bundle.manifest.model_copy(update=changes)
        path.unlink()
        pack_bundle(bundle_path(path.parent, manifest.name), manifest, dict(bundle.files))

    @property
    def manifest(self) -> Manifest:
        """The manifest of the first bundle."""
        return read_bundle(self.bundle).manifest

    def sum(self) -> None:
        """Write the checksums of what is there, and further lines."""
        path = self.folder / SUMS
        path.unlink(missing_ok=True)
        sums = digests(self.folder)
        write_sums(self.folder, {name: sums[name] for name in sums.keys() - self.unlisted})
        path.write_text("".join(f"{'0' * 64}  {name}\n" for name in self.lines) + path.read_text())


@contextmanager
def box(hub: Hub, honest: str) -> Iterator[Box]:
    """Copy an honest box; when it was tampered with, write its checksums."""
    folder = hub.folder / "tampered"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(hub.folder / f"box-{honest}", folder)
    made = Box(hub, folder)
    yield made
    made.sum()


FUTURE = datetime(2099, 1, 1, tzinfo=UTC)


def outcome(fingerprint: str, verdict: str = "rejected") -> str:
    return json.dumps(
        {
            "fingerprint": fingerprint,
            "at": FUTURE.isoformat(),
            "verdict": verdict,
            "blocks": 5,
            "minutes": 3.0,
        }
    )


def resolved(fingerprint: str) -> str:
    event = Event(
        at=FUTURE, event=EventKind.RESOLVED, fingerprint=fingerprint, by="somebody", note="fixed"
    )
    return event.model_dump_json() + "\n"


Attack = Callable[[Box], None]
MEASURES: dict[str, tuple[Attack, str]] = {}
"""Attacks with a batch of cells: what the bench does, and what the hub reports."""

PURSUES: dict[str, tuple[Attack, str]] = {}
"""Attacks with a batch of regressions."""


def attack(to: dict[str, tuple[Attack, str]], said: str) -> Callable[[Attack], Attack]:
    def add(function: Attack) -> Attack:
        to[function.__name__.replace("_", " ")] = function, said
        return function

    return add


NOT_COLLECTED = "is not a file that nightshift collects"
NOT_ASKED = "was not requested from this bench"


@attack(MEASURES, NOT_COLLECTED)
def journal_alone(box: Box) -> None:
    shutil.rmtree(box.folder)
    box.write("journal.jsonl", resolved(box.hub.confirmed))
    box.claim(box.hub.jobs["small"]["id"])


@attack(MEASURES, NOT_COLLECTED)
def journal_beside_bundles(box: Box) -> None:
    box.write("journal.jsonl", resolved(box.hub.confirmed))


@attack(MEASURES, NOT_ASKED)
def outcome_of_2099(box: Box) -> None:
    (path,) = box.hub.results.glob(f"experiments/confirm-{box.hub.confirmed}-*")
    box.write(f"experiments/{path.name}/outcome.json", outcome(box.hub.confirmed))


@attack(MEASURES, NOT_ASKED)
def outcome_of_an_invented_experiment(box: Box) -> None:
    box.write("experiments/confirm-x/outcome.json", outcome(box.hub.confirmed))


@attack(MEASURES, NOT_ASKED)
def another_question(box: Box) -> None:
    (path,) = box.hub.results.glob(f"experiments/confirm-{box.hub.confirmed}-*")
    box.write(f"experiments/{path.name}/spec.json", "{}")


@attack(MEASURES, NOT_ASKED)
def trials_that_explain_it_away(box: Box) -> None:
    box.write(f"experiments/explain-{box.hub.confirmed}/trials.json", "[]")


@attack(MEASURES, "ended in the future")
def bundle_of_2099(box: Box) -> None:
    steps = tuple(each.model_copy(update={"started_at": FUTURE}) for each in box.manifest.steps)
    box.forge(started_at=FUTURE, ended_at=FUTURE, steps=steps)


@attack(MEASURES, "was measured before its batch was handed out")
def bundle_of_the_past(box: Box) -> None:
    box.forge(started_at=box.manifest.started_at - SKEW - timedelta(hours=1))


@attack(MEASURES, "has a step that began before or after its run")
def step_of_another_time(box: Box) -> None:
    steps = tuple(each.model_copy(update={"started_at": FUTURE}) for each in box.manifest.steps)
    box.forge(steps=steps)


@attack(MEASURES, "its machine class differs from")
def undeclared_class(box: Box) -> None:
    machine = box.manifest.machine.model_copy(update={"machine_class": "huge"})
    box.forge(machine=machine)


@attack(MEASURES, "its machine class differs from")
def class_of_another_bench(box: Box) -> None:
    machine = box.manifest.machine.model_copy(update={"machine_class": "large"})
    box.forge(machine=machine)


@attack(MEASURES, NOT_ASKED)
def runs_of_another_bench(box: Box) -> None:
    shutil.copytree(
        box.hub.folder / "box-large-cells" / "bundles", box.folder / "bundles", dirs_exist_ok=True
    )


@attack(MEASURES, "was not handed out by this hub")
def invented_batch(box: Box) -> None:
    box.claim("small-001-00000000")


@attack(MEASURES, "was not handed out by this hub")
def batch_with_a_hostile_name(box: Box) -> None:
    box.claim("../../\x1b[31m\n" + "x" * 2000)


@attack(MEASURES, "name no batch of the hub")
def no_batch(box: Box) -> None:
    (box.folder / CLAIM).unlink()


@attack(MEASURES, NOT_ASKED)
def batch_of_another_bench(box: Box) -> None:
    box.claim(box.hub.jobs["large"]["id"])


@attack(MEASURES, NOT_ASKED)
def batch_of_regressions_for_cells(box: Box) -> None:
    box.claim(box.hub.jobs["pursue"]["id"])


@attack(MEASURES, "is damaged; pack again")
def claim_that_is_no_claim(box: Box) -> None:
    box.write(CLAIM, '{"id": 1, "by": "hub"}')


@attack(MEASURES, "holds more than the id of a batch")
def huge_claim(box: Box) -> None:
    box.write(CLAIM, b" " * (1 << 20))


@attack(MEASURES, "the existing bundle is kept")
def known_run_again(box: Box) -> None:
    path = next(list_bundles(box.hub.results / "bundles"))
    shutil.copy(path, box.folder / "bundles" / path.name)
    box.forge(box.folder / "bundles" / path.name, notes="faster")


@attack(MEASURES, "holds the run")
def old_bundle_under_a_new_name(box: Box) -> None:
    path = next(list_bundles(box.hub.results / "bundles"))
    shutil.copy(path, box.bundle)


@attack(MEASURES, "differs from what the hub asked for")
def old_bundle_with_a_new_identity(box: Box) -> None:
    path = next(list_bundles(box.hub.results / "bundles"))
    run_id, key = box.manifest.run_id, box.manifest.cell_key
    place = box.bundle
    bundle = read_bundle(path)
    manifest = bundle.manifest.model_copy(update={"run_id": run_id, "cell_key": key})
    place.unlink()
    pack_bundle(place, manifest, dict(bundle.files))


@attack(MEASURES, NOT_ASKED)
def more_repetitions(box: Box) -> None:
    run = box.manifest.run_id.rpartition("-r")[0]
    box.forge(run_id=f"{run}-r99", repetition=99)


@attack(MEASURES, NOT_ASKED)
def flood_of_attempts(box: Box) -> None:
    box.forge(attempt=MOST_ATTEMPTS + 1)


@attack(MEASURES, "is larger than any file that nightshift writes")
def huge_bundle(box: Box) -> None:
    with box.bundle.open("wb") as file:
        file.truncate(LARGEST + 1)


@attack(MEASURES, "is larger than any file that nightshift writes")
def huge_builds(box: Box) -> None:
    box.write("builds.json", b" " * (5 << 20))


@attack(MEASURES, "has an invalid line")
def name_that_leads_out(box: Box) -> None:
    box.lines = ["bundles/../../journal.jsonl"]


@attack(MEASURES, "has an invalid line")
def name_that_is_absolute(box: Box) -> None:
    box.lines = [str(box.hub.results / "journal.jsonl")]


@attack(MEASURES, "has an invalid line")
def name_that_writes_on_the_terminal(box: Box) -> None:
    box.lines = ["bundles/\x1b[2Jx.tar.zst"]


@attack(MEASURES, "is not listed in SHA256SUMS")
def file_without_a_checksum(box: Box) -> None:
    box.write("bundles/more.tar.zst", "x")
    box.unlisted = {"bundles/more.tar.zst"}


@attack(MEASURES, "is missing or altered")
def link_to_the_journal(box: Box) -> None:
    box.lines = [f"bundles/{box.bundle.name}"]
    path = box.bundle
    path.unlink()
    path.symlink_to(box.hub.results / "journal.jsonl")


@attack(MEASURES, "build that this bench was not asked for")
def build_failures_of_others(box: Box) -> None:
    failed = {
        "target": "sqlite",
        "source": "git",
        "version": box.hub.simulation.commits[0],
        "options": "plain",
        "failure": "gone",
    }
    box.write("builds.json", json.dumps([failed]))


@attack(MEASURES, "its origin differs from")
def imported_values(box: Box) -> None:
    box.forge(origin=Origin.IMPORTED)


@attack(MEASURES, "its line differs from")
def another_line(box: Box) -> None:
    box.forge(line="line")


@attack(MEASURES, "its set of steps differs from")
def invented_steps(box: Box) -> None:
    (record,) = box.manifest.steps
    step = Step(name="invented", group=record.step.group, unit=record.step.unit)
    box.forge(steps=(record, record.model_copy(update={"step": step})))


@attack(MEASURES, "its control differs from")
def own_run_as_a_control(box: Box) -> None:
    manifest = box.manifest
    night = manifest.started_at.date()
    box.forge(control=Control(name="c", machine=manifest.machine.hostname, night=night))


@attack(MEASURES, "its configuration differs from")
def another_configuration(box: Box) -> None:
    config = box.manifest.config.model_copy(update={"text": "PRAGMA synchronous = OFF;"})
    box.forge(config=config)


@attack(MEASURES, "its workload differs from")
def another_workload(box: Box) -> None:
    box.forge(workload=box.manifest.workload.model_copy(update={"version": "2"}))


@attack(MEASURES, "its revision differs from")
def another_place_on_the_line(box: Box) -> None:
    box.forge(revision=box.manifest.revision.model_copy(update={"order": (0,)}))


@attack(MEASURES, "its build differs from")
def another_build(box: Box) -> None:
    box.forge(build=box.manifest.build.model_copy(update={"options": "debug"}))


@attack(MEASURES, "is damaged")
def bundle_that_is_none(box: Box) -> None:
    box.bundle.write_bytes(b"nothing")


@attack(MEASURES, NOT_COLLECTED)
def hub_state(box: Box) -> None:
    for name in ("store.db", "detected.json", "batches.jsonl", "discovered.json"):
        box.write(name, "{}")


@attack(PURSUES, NOT_ASKED)
def refutation_of_a_confirmed_one(box: Box) -> None:
    (path,) = box.hub.results.glob(f"experiments/confirm-{box.hub.confirmed}-*")
    for bundle in list_bundles(path / "bundles"):
        name = bundle.name.replace("-r", "-r1")
        box.write(f"experiments/{path.name}/bundles/{name}", bundle.read_bytes())


@attack(PURSUES, NOT_ASKED)
def outcome_of_the_suspected_one(box: Box) -> None:
    box.write(f"experiments/{box.experiment.name}/outcome.json", outcome(box.hub.suspected))


@attack(PURSUES, NOT_ASKED)
def more_blocks_than_asked(box: Box) -> None:
    path = next(list_bundles(box.experiment / "bundles"))
    run = path.name.rpartition("-r")[0]
    box.forge(path, run_id=f"{run}-r600", repetition=600)


@attack(PURSUES, NOT_ASKED)
def another_revision_in_the_experiment(box: Box) -> None:
    path = next(list_bundles(box.hub.results / "bundles"))
    shutil.copy(path, box.experiment / "bundles" / path.name)


@attack(PURSUES, "was measured before its batch was handed out")
def old_runs_in_the_experiment(box: Box) -> None:
    for path in list(list_bundles(box.experiment / "bundles")):
        manifest = read_bundle(path).manifest
        box.forge(path, started_at=manifest.started_at - timedelta(days=1))


@attack(PURSUES, NOT_ASKED)
def search_that_nobody_asked(box: Box) -> None:
    box.write("experiments/bisect-sqlite-0123456789ab/search.json", "{}")


@attack(PURSUES, NOT_ASKED)
def cells_for_regressions(box: Box) -> None:
    shutil.copytree(box.hub.folder / "box-small-cells" / "bundles", box.folder / "bundles")


def test_honest_benches_are_taken(hub: Hub) -> None:
    for name in ("small", "large"):
        ran = hub.collect(hub.folder / f"box-{name}-cells")
        assert (ran.code, ran.out[:20]) == (0, "3 bundles collected "), ran.err
    assert hub.states() == {hub.confirmed: "confirmed", hub.suspected: "suspected"}
    ran = hub.collect(hub.folder / "box-small-state")
    assert ran.code == 0, ran.err
    assert hub.states() == {hub.confirmed: "confirmed", hub.suspected: "confirmed"}
    happened = Journal(hub.results).read()
    again = hub.collect(hub.folder / "box-small-state")
    assert (again.code, Journal(hub.results).read()) == (0, happened)


@pytest.mark.parametrize("name", MEASURES)
def test_a_batch_of_cells(hub: Hub, name: str) -> None:
    act, said = MEASURES[name]
    before, honest = hub.state(), digests(hub.folder / "box-small-cells")
    built = load_builds(hub.results)
    with box(hub, "small-cells") as tampered:
        act(tampered)
    ran = hub.collect(tampered.folder)
    assert said in ran.err, ran.err
    after = hub.state()
    assert before.items() <= after.items(), "nothing that the hub had has changed"
    assert after.items() - before.items() <= honest.items(), "its own batch is all that came"
    own = [state for state in load_builds(hub.results) if state not in built]
    assert len(load_builds(hub.results)) == len(built) + len(own), "no other build has changed"
    assert {state.version for state in own} <= {hub.simulation.commits[-1]}
    assert hub.states()[hub.confirmed] == "confirmed"


@pytest.mark.parametrize("name", PURSUES)
def test_a_batch_of_regressions(hub: Hub, name: str) -> None:
    act, said = PURSUES[name]
    before, decided = hub.state(), Journal(hub.results).read()
    with box(hub, "small-state") as tampered:
        act(tampered)
    began = hub.simulation.now()
    ran = hub.collect(tampered.folder)
    assert said in ran.err, ran.err
    after, happened = hub.state(), Journal(hub.results).read()
    own = f"experiments/confirm-{hub.suspected}-"
    changed = {key for key, _ in before.items() ^ after.items() if not key.startswith(own)}
    assert changed <= {"journal.jsonl"}
    assert happened[: len(decided)] == decided
    for event in happened[len(decided) :]:
        assert (event.fingerprint, event.by) == (hub.suspected, "nightshift")
        assert began <= event.at <= hub.simulation.now()
    assert hub.states()[hub.confirmed] == "confirmed"


PLACES: dict[str, tuple[Attack, str]] = {}
"""Attacks of a bench that has no batch, but a place of its machine class."""


@attack(PLACES, "")
def decisions_in_its_own_results(box: Box) -> None:
    box.write("journal.jsonl", resolved(box.hub.confirmed))
    (path,) = box.hub.results.glob(f"experiments/confirm-{box.hub.confirmed}-*")
    box.write(f"experiments/{path.name}/outcome.json", outcome(box.hub.confirmed))
    for name in ("store.db", "detected.json", "batches.jsonl", "nights.jsonl"):
        box.write(name, "{}")


@attack(PLACES, NOT_ASKED)
def runs_of_another_class(box: Box) -> None:
    shutil.copytree(
        box.hub.folder / "box-large-cells" / "bundles", box.folder / "bundles", dirs_exist_ok=True
    )


@attack(PLACES, NOT_ASKED)
def revision_of_its_own(box: Box) -> None:
    revision = box.manifest.revision.model_copy(update={"version": "99"})
    box.forge(revision=revision, run_id="sqlite-99-0123456789ab-r1")


@attack(PLACES, "ended in the future")
def future_in_its_own_results(box: Box) -> None:
    box.forge(ended_at=FUTURE)


@attack(PLACES, "its machine class differs from")
def another_class_in_its_own_results(box: Box) -> None:
    machine = box.manifest.machine.model_copy(update={"machine_class": "large"})
    box.forge(machine=machine)


@pytest.mark.parametrize("name", PLACES)
def test_a_place_of_a_class(hub: Hub, name: str) -> None:
    act, said = PLACES[name]
    before, honest = hub.state(), digests(hub.folder / "box-small-cells")
    shutil.rmtree(hub.folder / "small-plan" / "bench", ignore_errors=True)
    with box(hub, "small-cells") as tampered:
        act(tampered)
    (tampered.folder / SUMS).unlink()
    (tampered.folder / CLAIM).unlink()
    place = hub.folder / "small-plan" / "bench"
    tampered.folder.rename(place)
    try:
        ran = hub.collect("small-plan/bench")
    finally:
        shutil.rmtree(place)
    assert said in ran.err, ran.err
    assert ran.code == (2 if said else 0), ran.err
    after = hub.state()
    assert before.items() <= after.items()
    assert after.items() - before.items() <= honest.items()
    assert hub.states()[hub.confirmed] == "confirmed"


def test_a_place_of_no_class(hub: Hub) -> None:
    before = hub.state()
    with box(hub, "small-cells") as tampered:
        (tampered.folder / CLAIM).unlink()
    (tampered.folder / SUMS).unlink()
    ran = hub.collect("tampered")
    assert ran.code == 2
    assert "name no batch of the hub" in ran.err
    assert hub.state() == before


def test_times_that_are_no_numbers_decide_nothing(hub: Hub) -> None:
    with box(hub, "small-state") as tampered:
        for path in list(list_bundles(tampered.experiment / "bundles")):
            bundle = read_bundle(path)
            files = {
                name: data.replace(b"total seconds=", b"total seconds=nan ")
                for name, data in bundle.files.items()
            }
            path.unlink()
            pack_bundle(path, bundle.manifest, files)
    ran = hub.collect(tampered.folder)
    assert "Traceback" not in ran.err
    assert hub.states()[hub.confirmed] == "confirmed"
    assert hub.states()[hub.suspected] == "suspected"


def test_the_page_lists_every_attack_and_its_tests_exist() -> None:
    page = (Path(__file__).parents[2] / "docs/guide/trust.md").read_text()
    table = page.partition("## What a bench cannot do")[2].partition("\n## ")[0]
    assert set(re.findall(r"\*([^*|]+)\*", table)) == {*MEASURES, *PURSUES, *PLACES}
    named = re.findall(r"`(tests/[^`]+)::(test_\w+)`", page)
    assert len(named) > 6
    for file, function in named:
        assert f"def {function}(" in (Path(__file__).parents[2] / file).read_text()
