"""The reaper: what is ours and past its time goes, and nothing else ever does."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.text.errors import UserError
from tests.fakes.hetzner import FakeHetzner, Fault
from tests.fakes.hetzner.project import KINDS
from tests.fleet.conftest import Scene, Time

HOUR = 3600.0
NIGHT = "2026-03-01"
OURS = {"nightshift": "test", "night": NIGHT, "role": "bench", "expires": "20260228T000000Z"}

WISHES: dict[str, dict[str, Any]] = {
    "servers": {"server_type": "ccx13", "image": "debian-12"},
    "ssh_keys": {"public_key": "ssh-ed25519 AAAA"},
    "placement_groups": {"type": "spread"},
    "volumes": {"size": 10},
    "firewalls": {},
    "primary_ips": {"type": "ipv4", "assignee_type": "server"},
    "networks": {"ip_range": "10.0.0.0/16"},
}


def make(scene: Scene, name: str, labels: dict[str, str]) -> None:
    """Make a resource of each kind, with its kind in its name."""
    for kind in KINDS:
        body = {"name": f"{name}-{kind.replace('_', '-')}", "labels": labels, **WISHES[kind]}
        scene.fake.project.make(kind, body)


def test_every_kind_is_reaped(scene: Scene) -> None:
    make(scene, "old", OURS)
    swept = scene.fleet().reap()
    assert len(swept.deleted) == len(KINDS) and not swept.left
    assert not scene.left


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"expires": "20200101T000000Z", "role": "bench"},
        {"nightshift": "another", "expires": "20200101T000000Z", "role": "bench"},
        {"nightshift": "", "expires": "20200101T000000Z"},
        {"Nightshift": "test", "expires": "20200101T000000Z"},
        {**OURS, "role": "hub"},
        {**OURS, "expires": "20260301T220001Z"},
    ],
    ids=["none", "no-name", "other-name", "empty-name", "other-key", "hub", "alive"],
)
def test_what_is_not_ours_or_still_alive_is_never_touched(
    scene: Scene, labels: dict[str, str], blind: bool
) -> None:
    scene.fake.blind = blind
    make(scene, "theirs", labels)
    before = scene.left
    scene.fleet().reap()
    scene.fleet().down("another-night")
    assert scene.left == before
    assert not [asked for asked in scene.fake.asked if asked.split()[0] != "GET"]


@pytest.mark.parametrize(
    "stamp", ["", "soon", "20260230T000000Z", "2026-02-28", "1772236800", None]
)
def test_a_malformed_label_is_reported_and_left(scene: Scene, stamp: str | None) -> None:
    labels = {key: value for key, value in OURS.items() if key != "expires"}
    make(scene, "odd", labels if stamp is None else {**labels, "expires": stamp})
    make(scene, "old", OURS)
    swept = scene.fleet().reap()
    assert sorted(scene.left) == sorted(f"odd-{kind.replace('_', '-')}" for kind in KINDS)
    line = (
        f"server odd-servers: its label expires has the invalid value {stamp or ''!r}; "
        "correct its label, or delete it"
    )
    assert swept.left.count(line) == 1 and len(swept.left) == len(KINDS)
    scene.fleet().status()
    assert scene.reported == [line]


def test_what_cannot_be_deleted_stops_nothing_else_and_is_reported(scene: Scene) -> None:
    make(scene, "old", OURS)
    (number,) = scene.fake.project.things["volumes"]
    scene.fake.project.things["volumes"][number]["protection"]["delete"] = True
    swept = scene.fleet().reap()
    assert len(swept.deleted) == len(KINDS) - 1
    assert swept.left == [
        "volume old-volumes: Hetzner Cloud: volume deletion is protected (protected)"
    ]
    assert scene.left == ["old-volumes"]


def test_a_night_dies_with_its_time_to_live(scene: Scene) -> None:
    scene.up(NIGHT)
    scene.time.at += 4 * HOUR - 300
    assert not scene.fleet().reap().deleted
    scene.time.at += 300
    assert len(scene.fleet().reap().deleted) == 6
    assert not scene.left
    assert scene.billed == pytest.approx(scene.fake.project.bill())


def test_deleting_that_fails_is_reported_and_done_the_next_time(scene: Scene) -> None:
    scene.up(NIGHT)
    scene.fake.faults.append(Fault("DELETE", r"/servers/\d+", fails="unknown_error"))
    swept = scene.fleet().down(NIGHT)
    # Its firewall and its group are still in use.
    assert len(swept.left) == 3 and "delete_server failed" in swept.left[0]
    assert not scene.fleet().down(NIGHT).left
    assert not scene.left
    assert scene.billed == pytest.approx(scene.fake.project.bill())


@pytest.mark.parametrize("trouble", ["record", "prices", "disk"])
def test_no_trouble_with_the_record_keeps_a_server_alive(scene: Scene, trouble: str) -> None:
    make(scene, "old", OURS)
    if trouble == "record":
        (scene.folder / "fleet.jsonl").write_text("{}\n")
    elif trouble == "disk":
        (scene.folder / "fleet.jsonl").mkdir()
    else:
        scene.fake.faults.append(Fault("GET", "/pricing", 500, "server_error", times=1000))
    swept = scene.fleet().reap()
    assert len(swept.deleted) == len(KINDS) and not swept.left
    assert not scene.left
    assert any("the record of servers is incomplete" in line for line in scene.reported)


def test_a_price_that_is_refused_once_costs_no_line_of_the_record(scene: Scene) -> None:
    scene.fake.project.make("servers", {"name": "lost", "labels": OURS, **WISHES["servers"]})
    scene.fake.faults.append(Fault("GET", "/pricing", 403, "forbidden"))
    assert not scene.fleet().reap().left and not scene.left
    assert scene.billed == pytest.approx(scene.fake.project.bill()) != 0


def test_what_cannot_be_listed_stops_nothing_else(scene: Scene) -> None:
    make(scene, "old", OURS)
    scene.fake.faults.append(Fault("GET", "/volumes", 403, "forbidden", times=9))
    swept = scene.fleet().reap()
    assert scene.left == ["old-volumes"]
    assert len(swept.left) == 1 and swept.left[0].startswith(
        "the existing resources of kind volume "
    )


def test_what_somebody_deleted_is_closed_in_the_record(scene: Scene) -> None:
    scene.up(NIGHT)
    for number in list(scene.fake.project.things["servers"]):
        scene.fake.project.delete("servers", number)
    scene.fake.project.tick()
    scene.fake.project.tick()
    scene.time.at += 9 * HOUR
    scene.fleet().status()
    assert all(life.ended is not None for life in scene.lives())
    assert scene.billed == pytest.approx(scene.fake.project.bill())


def test_what_went_at_a_time_that_nobody_knows_is_closed_now(scene: Scene) -> None:
    scene.up(NIGHT)
    scene.fake.project.things["servers"].clear()
    scene.time.at += 1.5 * HOUR
    scene.fleet().status()
    assert [life.rent.hours(life.ended) for life in scene.lives() if life.ended] == [2, 2, 2]


def test_a_server_whose_label_somebody_took_off_is_still_paid_for(scene: Scene) -> None:
    scene.up(NIGHT)
    (number, *_) = scene.fake.project.things["servers"]
    scene.fake.project.change("servers", number, {"labels": {}})
    scene.fleet().down(NIGHT)
    assert number in scene.fake.project.things["servers"]
    assert [life.rent.number for life in scene.lives() if life.ended is None] == [number]


def test_what_is_not_in_the_record_is_noted_when_it_is_seen(scene: Scene) -> None:
    scene.fake.project.make("servers", {"name": "lost", "labels": OURS, **WISHES["servers"]})
    scene.time.at += 2.5 * HOUR
    scene.fleet().reap()
    assert [life.rent.hours(life.ended) for life in scene.lives() if life.ended] == [3]
    assert scene.billed == pytest.approx(scene.fake.project.bill())


@pytest.mark.parametrize("verb", ["up", "down"])
def test_cut_off_at_any_request_the_reaper_finds_the_rest(scene: Scene, verb: str) -> None:
    """From some request on nothing is answered any more, as if the process were killed there."""
    scene.fake.project.make("servers", {"name": "foreign", **WISHES["servers"]})
    (foreign,) = scene.fake.project.things["servers"].values()
    scene.config = scene.configured(cheap_and_small)
    for answers in range(1, 200):
        if verb == "down":
            scene.up(NIGHT)
        scene.fake.answers = answers
        through = got_through(scene, verb)
        scene.fake.answers = None
        scene.time.at += 4 * HOUR
        assert not scene.fleet().reap().left
        assert scene.left == ["foreign"]
        assert scene.billed == pytest.approx(
            scene.fake.project.bill() - scene.fake.project.cost(foreign)
        )
        scene.registry.runners.clear()
        if through:
            assert answers > 10
            return
    pytest.fail("it never came to an end")


def cheap_and_small(text: str) -> str:
    """A configuration with one class, and budgets that a hundred nights stay within."""
    start, _, rest = text.replace(' EUR"', '00 EUR"').partition('[[class]]\nname = "big"')
    assert rest
    return start


def got_through(scene: Scene, verb: str) -> bool:
    """Make or delete the servers of a night; return whether that came to its end."""
    try:
        if verb == "down":
            return not scene.fleet().down(NIGHT).left
        scene.up(NIGHT)
    except UserError:
        return False
    return True


def run(scene: Scene, verb: str, night: str) -> None:
    """Do what a verb does, in a process of its own."""
    match verb:
        case "up":
            scene.up(night)
        case "down":
            scene.fleet().down(night)
        case _:
            scene.fleet().reap()


@settings(deadline=None, max_examples=10)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["up", "down", "reap"]),
            st.sampled_from(["1", "2"]),
            st.integers(1, 40),
            st.integers(0, 3),
        ),
        max_size=6,
    )
)
def test_whatever_happened_nothing_outlives_its_time_to_live(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, str, int, int]]
) -> None:
    """Verbs in any order, each cut off after some requests, and hours between them."""
    time = Time()
    fake = FakeHetzner(clock=time)
    with fake.serving():
        scene = Scene(fake, time, tmp_path_factory.mktemp("history"))
        scene.config = scene.configured(cheap_and_small)
        for verb, night, answers, hours in history:
            fake.answers = answers
            with suppress(UserError):
                run(scene, verb, night)
            fake.answers = None
            time.at += hours * HOUR
            scene.fleet().reap()
            expiries = [
                each["labels"]["expires"] for each in fake.project.things["servers"].values()
            ]
            assert all(stamp > f"{time.now():%Y%m%dT%H%M%SZ}" for stamp in expiries)
            assert scene.billed == pytest.approx(fake.project.bill())
        time.at += 4 * HOUR
        assert not scene.fleet().reap().left
        assert not scene.left
        assert scene.billed == pytest.approx(fake.project.bill())
