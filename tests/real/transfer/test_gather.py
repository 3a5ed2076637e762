"""What is at a place comes to the hub once: whole, whatever happens on the way."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.measure.progress import Silent
from pipeline.storage.bundle import SUFFIX, read_bundle
from pipeline.text.errors import UserError
from pipeline.transfer.assignment import Assignment
from pipeline.transfer.folder import SUMS
from pipeline.transfer.gather import INCOMING, Gathered, gather
from pipeline.transfer.push import push
from pipeline.transfer.results import Collected, collect
from tests.real.transfer.anything import asking
from tests.real.transfer.conftest import Ground
from tests.storage.bundles import make_run, put_night, put_run

AT = datetime(2026, 3, 1, tzinfo=UTC)


class Counting(Silent):
    """Counts the bytes that come."""

    def __init__(self) -> None:
        self.bytes = 0.0
        self.total = 0.0

    def begin(self, stage: str, total: float) -> None:
        self.total += total

    def advance(self, amount: float, left: float | None = None) -> None:
        self.bytes += amount


class Hub:
    """A hub that collects into a folder."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.watcher = Counting()

    def collect(self, ground: Ground, name: str = "bench") -> Gathered:
        """Collect from a place; count the bytes of this time."""
        self.watcher = Counting()
        with ground.open(name) as place:
            return gather(
                place, self.results, self.take, lambda *_: asking(), self.watcher, lambda: AT
            )

    def take(self, folder: Path, asked: Assignment) -> Collected:
        return collect(folder, self.results, asked)

    @property
    def has(self) -> dict[str, bytes]:
        """The bundles of nights and experiments, by names."""
        return files_in(self.results, "bundles", "experiments")


def files_in(root: Path, *folders: str) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for folder in folders
        for path in sorted((root / folder).rglob("*"))
        if path.is_file() and path.name.endswith(SUFFIX)
    }


@pytest.fixture
def hub(home: Path) -> Hub:
    return Hub(home / "hub")


@pytest.fixture
def bench(home: Path) -> Path:
    """The results of a bench: a night, and an experiment with its verdict, which stays there."""
    results = home / "bench"
    put_night(results / "bundles")
    experiment = results / "experiments" / "confirm-1"
    put_run(experiment / "bundles", 3)
    (experiment / "spec.json").write_text("{}")
    (experiment / "outcome.json").write_text("{}")
    (results / "journal.jsonl").write_text("")
    return results


def sent(ground: Ground, bench: Path, name: str = "bench") -> None:
    """Have what a bench has at a place, as ``pack`` sends it."""
    with ground.open(name) as place:
        push(place, bench, Silent())


def lies(ground: Ground, bench: Path, name: str = "bench") -> None:
    """Have the results of a bench at a place as they are."""
    shutil.copytree(bench, ground.folder / name)


Brings = Callable[[Ground, Path], None]
BOTH = pytest.mark.parametrize("brings", [sent, lies], ids=["packed", "results"])


@BOTH
def test_everything_comes_once(ground: Ground, bench: Path, hub: Hub, brings: Brings) -> None:
    brings(ground, bench)
    found = hub.collect(ground)
    assert found.wrong == []
    assert hub.has == files_in(bench, "bundles", "experiments")
    assert hub.watcher.bytes == hub.watcher.total > 0
    assert {name for each in found.taken for name in each.experiments} == {"confirm-1"}

    again = hub.collect(ground)
    assert (again.wrong, again.known, hub.watcher.bytes) == ([], 7, 0)
    assert not any(each.bundles or each.experiments for each in again.taken)


@BOTH
def test_a_second_collect_transfers_what_is_new(
    ground: Ground, bench: Path, hub: Hub, brings: Brings
) -> None:
    brings(ground, bench)
    hub.collect(ground)
    new = put_run(bench / "bundles", 20)
    if brings is lies:
        shutil.copy(new, ground.folder / "bench" / "bundles")
    else:
        sent(ground, bench)
    found = hub.collect(ground)
    assert [path.name for each in found.taken for path in each.bundles] == [new.name]
    assert hub.watcher.bytes == new.stat().st_size


def test_several_benches_below_one_place(ground: Ground, bench: Path, hub: Hub) -> None:
    sent(ground, bench, "all/one")
    other = bench.parent / "other"
    put_run(other / "bundles", 30)
    sent(ground, other, "all/two")
    assert hub.collect(ground, "all").wrong == []
    assert hub.has == files_in(bench, "bundles", "experiments") | files_in(other, "bundles")


@BOTH
def test_what_was_taken_and_forgotten_is_not_taken_twice(
    ground: Ground, bench: Path, hub: Hub, brings: Brings
) -> None:
    brings(ground, bench)
    hub.collect(ground)
    (hub.results / "collected.jsonl").unlink()
    found = hub.collect(ground)
    assert not any(each.bundles for each in found.taken)
    assert found.known + sum(each.known for each in found.taken) == 7
    if brings is sent:
        assert found.known == 7, "its checksums say so before anything is transferred"


def test_a_folder_that_is_delivered_again_elsewhere(ground: Ground, bench: Path, hub: Hub) -> None:
    sent(ground, bench)
    hub.collect(ground)
    sent(ground, bench, "again")
    found = hub.collect(ground, "again")
    assert (found.known, hub.watcher.bytes) == (7, 0)


def test_what_was_lost_here_comes_again(ground: Ground, bench: Path, hub: Hub) -> None:
    sent(ground, bench)
    hub.collect(ground)
    before = hub.has
    next((hub.results / "bundles").iterdir()).unlink()
    hub.collect(ground)
    assert hub.has == before


@BOTH
def test_another_bundle_of_a_run_stays_away(
    ground: Ground, bench: Path, hub: Hub, brings: Brings
) -> None:
    manifest, _ = make_run(9, 1)
    first = put_run(hub.results / "bundles", 9, 1, faster=3)
    kept = first.read_bytes()
    brings(ground, bench)
    found = hub.collect(ground)
    assert [run for each in found.taken for run in each.measured_twice] == [manifest.run_id]
    assert first.read_bytes() == kept
    again = hub.collect(ground)
    assert hub.watcher.bytes == 0, "it is not fetched to be refused again"
    assert not any(each.measured_twice for each in again.taken)


@BOTH
def test_bytes_that_changed_are_left_and_the_rest_is_taken(
    ground: Ground, bench: Path, hub: Hub, brings: Brings
) -> None:
    brings(ground, bench)
    bundle = sorted((ground.folder / "bench" / "bundles").iterdir())[2]
    whole = bundle.read_bytes()
    bundle.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
    found = hub.collect(ground)
    (line,) = found.wrong
    assert bundle.name in line and "\n" not in line and INCOMING not in line
    missing = files_in(bench, "bundles", "experiments").keys() - hub.has.keys()
    assert missing == {f"bundles/{bundle.name}"}

    bundle.write_bytes(whole)
    os.utime(bundle, (AT.timestamp(), AT.timestamp()))  # Over ssh times are whole seconds.
    assert hub.collect(ground).wrong == []
    assert hub.has == files_in(bench, "bundles", "experiments")


@BOTH
def test_a_bundle_that_is_still_being_written_comes_later(
    ground: Ground, bench: Path, hub: Hub, brings: Brings
) -> None:
    brings(ground, bench)
    new = put_run(bench / "bundles", 21)
    there = ground.folder / "bench" / "bundles" / new.name
    there.write_bytes(new.read_bytes()[:1000])
    found = hub.collect(ground)
    assert len(found.wrong) == (brings is lies), "what checksums do not name is not looked at"
    assert not (hub.results / "bundles" / new.name).exists()

    if brings is sent:
        sent(ground, bench)
    else:
        there.write_bytes(new.read_bytes())
    assert hub.collect(ground).wrong == []
    assert hub.has == files_in(bench, "bundles", "experiments")


def test_a_damaged_bundle_is_reported_every_time_and_fetched_once(
    ground: Ground, bench: Path, hub: Hub
) -> None:
    lies(ground, bench)
    bundle = sorted((ground.folder / "bench" / "bundles").iterdir())[0]
    bundle.write_bytes(b"nothing")
    first = hub.collect(ground)
    second = hub.collect(ground)
    assert first.wrong == second.wrong != []
    assert hub.watcher.bytes == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("../../x.json", "has an invalid line"),
        ("bundles/../../x.tar.zst", "has an invalid line"),
        ("/etc/x.conf", "has an invalid line"),
        ("store.db", "is not a file that nightshift collects"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(
    ground: Ground, bench: Path, hub: Hub, line: str, said: str
) -> None:
    sent(ground, bench)
    sums = ground.folder / "bench" / SUMS
    sums.write_text(f"{'0' * 64}  {line}\n" + sums.read_text())
    (wrong,) = hub.collect(ground).wrong
    assert said in wrong
    assert hub.has == {}


def test_a_file_that_checksums_name_and_is_not_there(ground: Ground, bench: Path, hub: Hub) -> None:
    sent(ground, bench)
    gone = sorted((ground.folder / "bench" / "bundles").iterdir())[0]
    gone.unlink()
    (wrong,) = hub.collect(ground).wrong
    assert gone.name in wrong and "missing" in wrong
    assert len(hub.has) == len(files_in(bench, "bundles", "experiments")) - 1


def test_a_place_with_nothing_is_one_line(ground: Ground, hub: Hub) -> None:
    with pytest.raises(
        UserError, match="holds no results of `nightshift pack` or of a night; check the path"
    ):
        hub.collect(ground, "empty")


def test_a_folder_here_that_cannot_be_written_is_one_line(
    ground: Ground, bench: Path, hub: Hub
) -> None:
    sent(ground, bench)
    hub.results.mkdir()
    (hub.results / INCOMING).write_text("in the way")
    (line,) = hub.collect(ground).wrong
    assert f"{hub.results} cannot store the files of" in line and "\n" not in line


def test_every_bundle_that_came_can_be_read(ground: Ground, bench: Path, hub: Hub) -> None:
    lies(ground, bench)
    hub.collect(ground)
    for path in (hub.results / "bundles").iterdir():
        read_bundle(path)
    assert list((hub.results / INCOMING).rglob("*.tar.zst")) == []
