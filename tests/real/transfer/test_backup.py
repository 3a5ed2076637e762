"""What a hub cannot derive is backed up as it was at one moment, and comes back the same."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.measure.progress import Silent
from pipeline.storage.bundle import list_bundles
from pipeline.storage.database import open_store
from pipeline.storage.ingest import ingest
from pipeline.text.errors import UserError
from pipeline.transfer.backup import APPENDED, Done, Sources, backup
from pipeline.transfer.generation import generations
from pipeline.transfer.places.base import PlaceError
from pipeline.transfer.restore import restore, restore_config
from tests.real.transfer.conftest import Ground
from tests.storage.bundles import put_night, put_run
from tests.storage.dumps import Dump, by_names

AT = datetime(2026, 3, 1, tzinfo=UTC)
LINES = '{"a": 1}\n{"b": 2}\n'


@pytest.fixture
def hub(home: Path) -> Sources:
    """A hub with something of everything, and with what is derived."""
    results = home / "results"
    put_night(results / "bundles")
    put_run(results / "bundles", attempt=1)
    put_run(results / "experiments" / "confirm-1" / "bundles", 3)
    (results / "experiments" / "confirm-1" / "outcome.json").write_text("{}")
    for name in APPENDED:
        (results / name).write_text(LINES)
    (results / "github.json").write_text("{}")
    (results / "derived.html").write_text("x")
    grafana = results / "hub" / "grafana"
    (grafana / "log").mkdir(parents=True)
    (grafana / "log" / "grafana.log").write_text("x")
    (grafana / "admin-password").write_text("secret")
    with closing(sqlite3.connect(grafana / "grafana.db")) as database:
        database.execute("CREATE TABLE dashboards (name)")
        database.execute("INSERT INTO dashboards VALUES ('by hand')")
        database.commit()
    (home / "nightshift.toml").write_text("[paths]\n")
    return Sources(results, grafana, home / "nightshift.toml")


def saved(ground: Ground, hub: Sources, day: int = 0, keep: int = 30) -> Done:
    with ground.open("backup") as place:
        return backup(place, hub, keep, AT + timedelta(days=day), Silent())


def restored(ground: Ground, folder: Path, which: int = -1) -> Sources:
    """Restore a generation into a folder that is made for it."""
    to = Sources(folder / "results", folder / "results/hub/grafana", folder / "nightshift.toml")
    folder.mkdir(exist_ok=True)
    with ground.open("backup") as place:
        name = generations(place)[which]
        restore_config(place, name, to.config)
        restore(place, name, to, Silent())
    return to


def dump(results: Path) -> Dump:
    store = open_store(f"sqlite:///{results / 'store.db'}")
    ingest(store, list_bundles(results / "bundles"))
    return by_names(store)


def files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.suffix not in (".db", ".lock", ".log", ".html")
    }


def test_a_hub_comes_back_as_it_was(ground: Ground, hub: Sources, home: Path) -> None:
    done = saved(ground, hub)
    to = restored(ground, home / "new")
    assert files(to.results) == files(hub.results)
    assert done.files == len(files(to.results)) + 2, "the configuration and Grafana's database"
    assert to.config.read_text() == "[paths]\n"
    with closing(sqlite3.connect(to.grafana / "grafana.db")) as database:
        assert database.execute("SELECT * FROM dashboards").fetchall() == [("by hand",)]
    assert dump(to.results) == dump(hub.results)
    assert not (home / "new" / "results.restoring").exists()


def test_only_what_is_new_is_sent(ground: Ground, hub: Sources) -> None:
    first = saved(ground, hub)
    assert (first.sent, first.removed) == (len(contents(ground)), 0)
    assert saved(ground, hub, 1).sent == 0
    new = put_run(hub.results / "bundles", 20)
    third = saved(ground, hub, 2)
    assert (third.sent, third.bytes) == (1, new.stat().st_size)


def contents(ground: Ground) -> set[str]:
    return {path.name for path in (ground.folder / "backup" / "objects").iterdir()}


def test_old_generations_leave_with_what_they_alone_had(
    ground: Ground, hub: Sources, home: Path
) -> None:
    (hub.results / "github.json").write_text("{\n0}")
    first = saved(ground, hub).sent
    removed = []
    for day in range(1, 4):
        (hub.results / "github.json").write_text(f"{{\n{day}}}")
        removed.append(saved(ground, hub, day, keep=2).removed)
    assert removed == [0, 1, 1]
    with ground.open("backup") as place:
        assert len(generations(place)) == 2
    older = restored(ground, home / "older", 0)
    assert (older.results / "github.json").read_text() == "{\n2}"
    newer = restored(ground, home / "newer", 1)
    assert (newer.results / "github.json").read_text() == "{\n3}"
    assert len(contents(ground)) == first + 1, "what only the oldest had is gone"


def test_a_line_that_is_half_written_is_left_out(ground: Ground, hub: Sources, home: Path) -> None:
    with (hub.results / "journal.jsonl").open("a") as file:
        file.write('{"half')
    (hub.results / "bundles" / "x.tar.partial").write_text("half")
    saved(ground, hub)
    to = restored(ground, home / "new")
    assert (to.results / "journal.jsonl").read_text() == LINES
    assert not (to.results / "bundles" / "x.tar.partial").exists()


def test_nothing_is_restored_over_what_is_there(ground: Ground, hub: Sources, home: Path) -> None:
    saved(ground, hub)
    before = files(hub.results)
    with pytest.raises(UserError, match=("exists already; move it away")):
        restored(ground, home)
    assert files(hub.results) == before


def test_a_configuration_that_is_there_stays(ground: Ground, hub: Sources, home: Path) -> None:
    saved(ground, hub)
    (home / "new").mkdir()
    (home / "new" / "nightshift.toml").write_text("# mine\n")
    assert restored(ground, home / "new").config.read_text() == "# mine\n"


@pytest.mark.parametrize("harm", ["altered", "shorter", "gone"])
def test_a_content_that_is_not_as_it_was_is_refused(
    ground: Ground, hub: Sources, home: Path, harm: str
) -> None:
    saved(ground, hub)
    content = max((ground.folder / "backup" / "objects").iterdir(), key=lambda p: p.stat().st_size)
    whole = content.read_bytes()
    if harm == "gone":
        content.unlink()
    else:
        content.write_bytes(whole[:-1] + (b"?" if harm == "altered" else b""))
    with pytest.raises(PlaceError, match=f"(lacks|altered) .*{content.name}"):
        restored(ground, home / "new")
    assert not (home / "new" / "results").exists()
    # What was fetched stays: once the place is fixed, the same command goes on.
    content.write_bytes(whole)
    assert files(restored(ground, home / "new").results) == files(hub.results)


def test_a_generation_that_was_altered_is_refused(ground: Ground, hub: Sources, home: Path) -> None:
    saved(ground, hub)
    (path,) = (ground.folder / "backup" / "generations").iterdir()
    path.write_text(path.read_text().replace("results/journal", "results/../journal"))
    with pytest.raises(PlaceError, match="damaged backup"):
        restored(ground, home / "new")
