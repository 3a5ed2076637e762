"""The fleet's verbs against a stateful fake, by the real SDK."""

from __future__ import annotations

import json

import pytest

from pipeline.fleet.cloud import Cloud
from pipeline.text.errors import UserError
from tests.fakes.hetzner import Fault
from tests.fleet.conftest import BEGIN, Scene

HOUR = 3600.0
NIGHT = "run-77.1"


def servers(scene: Scene) -> dict[str, dict[str, str]]:
    """The labels of the servers that there are."""
    things = scene.fake.project.things["servers"].values()
    return {each["name"]: each["labels"] for each in things}


def made(scene: Scene) -> int:
    """How many requests have made something."""
    return sum(asked.startswith("POST") for asked in scene.fake.asked)


def test_a_night_is_made_labelled_and_deleted(scene: Scene) -> None:
    names = scene.fleet().up(NIGHT)
    found = servers(scene)
    assert sorted(found) == sorted(names) and len(names) == 3
    assert [labels["class"] for labels in found.values()] == ["ccx13", "ccx13", "big"]
    assert {json.dumps({**labels, "class": ""}) for labels in found.values()} == {
        json.dumps(
            {
                "nightshift": "test",
                "night": NIGHT,
                "class": "",
                "expires": "20260302T020000Z",
                "role": "bench",
            }
        )
    }
    project = scene.fake.project
    for server in project.things["servers"].values():
        assert server["status"] == "running"
        assert server["location"]["name"] == "fsn1"
        assert len(server["public_net"]["firewalls"]) == 1
    (wall,) = project.things["firewalls"].values()
    assert wall["rules"] == []
    (group,) = project.things["placement_groups"].values()
    assert len(group["servers"]) == 2
    swept = scene.fleet().down(NIGHT)
    assert len(swept.deleted) == 5 and not swept.left
    assert not scene.left
    assert not scene.registry.runners


def test_each_server_gets_runners_of_its_class_and_no_token(scene: Scene) -> None:
    names = scene.fleet().up(NIGHT)
    assert set(scene.registry.runners) == {f"{name}-{job}" for name in names for job in (1, 2)}
    for name in names:
        reported = scene.fake.project.user_data[name]
        mine = [given for given in scene.registry.given if f"{name}-" in given]
        assert len(mine) == 2 and all(given in reported for given in mine)
        assert sum(given in reported for given in scene.registry.given) == 2
        assert "h" * 64 not in reported
    assert set(scene.registry.runners.values()) == {
        ("self-hosted", "ccx13"),
        ("self-hosted", "big"),
    }


def test_up_again_makes_only_what_is_missing(scene: Scene) -> None:
    names = scene.fleet().up(NIGHT)
    before, registered = made(scene), len(scene.registry.given)
    assert scene.fleet().up(NIGHT) == names
    assert (made(scene), len(scene.registry.given)) == (before, registered)
    number = next(iter(scene.fake.project.things["servers"]))
    scene.fake.project.delete("servers", number)
    scene.fake.project.tick()
    scene.fake.project.tick()
    assert scene.fleet().up(NIGHT) == names
    assert (made(scene), len(scene.registry.given)) == (before + 1, registered + 2)
    assert len({labels["expires"] for labels in servers(scene).values()}) == 1


def test_nights_and_pipelines_do_not_touch_each_other(scene: Scene) -> None:
    scene.fleet().up("1")
    first = scene.left
    scene.fleet().up("1-2")
    runners = dict(scene.registry.runners)
    scene.config = scene.configured(lambda text: text.replace('"test"', '"other"'))
    scene.fleet().up("1")
    scene.fleet().down("1")
    scene.config = scene.configured()
    assert set(runners) == set(scene.registry.runners)
    scene.fleet().down("1-2")
    assert scene.left == first
    assert len(scene.registry.runners) == 6


def test_over_budget_nothing_is_made_and_the_sum_is_said(scene: Scene) -> None:
    scene.config = scene.configured(lambda text: text.replace('"5 EUR"', '"0.50 EUR"'))
    with pytest.raises(UserError) as caught:
        scene.fleet().up(NIGHT)
    # 4 hours of two ccx13 and a ccx33, each with an address, and 19 % on all of it.
    assert str(caught.value) == (
        "3 servers for 4 h cost up to 0.59 EUR: the total of 0.59 EUR exceeds per_night = 0.50 "
        "EUR in [fleet]; no server was created"
    )
    assert made(scene) == 0 and not scene.registry.given and not scene.lives()


def test_what_a_month_cost_counts_against_its_budget(scene: Scene) -> None:
    scene.config = scene.configured(lambda text: text.replace('"20 EUR"', '"1 EUR"'))
    scene.fleet().up("1")
    with pytest.raises(
        UserError, match=r"plus 0\.59 EUR spent before: the total of 1\.17 EUR exceeds"
    ):
        scene.fleet().up("2")
    # Gone after an hour, they cost that hour only.
    scene.fleet().down("1")
    scene.fleet().up("2")
    scene.fleet().down("2")
    # Another month has a budget of its own.
    scene.time.at += 31 * 24 * HOUR
    assert scene.fleet().quote().month.amount == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('per_month = "20 EUR"', "", "per_month is not set in"),
        ('"5 EUR"', '"5 USD"', "is in USD, but Hetzner Cloud bills in EUR"),
        ('server_type = "ccx13"', 'server_type = "ccx14"', "did you mean ccx13"),
        ('["fsn1", "hel1"]', '["nowhere"]', "name other locations"),
        (
            'name = "big"',
            'name = "big-"',
            (
                "is not a valid label of a server; use up to 63 letters, digits, dots, dashes and "
                "underscores, beginning and ending with a letter or digit"
            ),
        ),
    ],
)
def test_mistakes_of_the_configuration_are_said_before_anything_is_made(
    scene: Scene, old: str, new: str, said: str
) -> None:
    scene.config = scene.configured(lambda text: text.replace(old, new))
    with pytest.raises(UserError, match=said):
        scene.fleet().up(NIGHT)
    assert made(scene) == 0


def test_a_quote_is_of_the_dearest_place(scene: Scene) -> None:
    near = scene.fleet().quote().total.amount
    scene.config = scene.configured(lambda text: text.replace('"hel1"', '"ash"'))
    assert near * 1.09 < scene.fleet().quote().total.amount < near * 1.1
    assert scene.fleet().quote(seconds=HOUR + 1).hours == 2
    assert made(scene) == 0


def test_the_next_place_is_taken_where_one_is_sold_out(scene: Scene) -> None:
    scene.fake.project.sold_out = {("ccx13", "fsn1"), ("ccx33", "fsn1"), ("ccx33", "hel1")}
    scene.config = scene.configured(
        lambda text: text.replace('"ccx33"\n', '"ccx33"\ninstead = ["ccx63"]\n')
    )
    scene.fleet().up(NIGHT)
    things = scene.fake.project.things["servers"].values()
    assert [(each["server_type"]["name"], each["location"]["name"]) for each in things] == [
        ("ccx13", "hel1"),
        ("ccx13", "hel1"),
        ("ccx63", "fsn1"),
    ]
    # A configuration that no server was given is not thrown away.
    assert len(scene.registry.given) == 6
    assert any("no ccx33 in hel1 now" in line for line in scene.reported)


def test_all_or_none(scene: Scene) -> None:
    scene.fake.project.sold_out = {("ccx33", "fsn1"), ("ccx33", "hel1")}
    with pytest.raises(UserError, match="big-1 is unavailable"):
        scene.fleet().up(NIGHT)
    assert not servers(scene) and not scene.registry.runners
    assert scene.billed == pytest.approx(scene.fake.project.bill())
    scene.fleet().down(NIGHT)
    assert not scene.left


def test_what_was_there_before_outlives_an_attempt_that_fails(scene: Scene) -> None:
    names = scene.fleet().up(NIGHT)
    (number, *_) = scene.fake.project.things["servers"]
    scene.fake.project.delete("servers", number)
    scene.fake.project.tick()
    scene.fake.project.tick()
    scene.fake.project.limits["servers"] = 2
    with pytest.raises(UserError, match="limit exceeded"):
        scene.fleet().up(NIGHT)
    assert sorted(servers(scene)) == sorted(names[1:])
    assert len(scene.registry.runners) == 4


def test_an_interrupted_attempt_leaves_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(seconds: float) -> None:
        scene.time.at += seconds
        if len(servers(scene)) == 2 and not interrupts:
            interrupts.append(scene.time.at)
            raise KeyboardInterrupt

    interrupts: list[float] = []
    monkeypatch.setattr(scene.time, "sleep", stopped)
    with pytest.raises(KeyboardInterrupt):
        scene.fleet().up(NIGHT)
    assert interrupts
    assert not servers(scene) and not scene.registry.runners
    assert scene.billed == pytest.approx(scene.fake.project.bill())


def test_a_server_that_does_not_start_is_deleted_and_made_elsewhere(scene: Scene) -> None:
    scene.fake.faults.append(Fault(fails="unknown_error"))
    scene.fleet().up(NIGHT)
    places = [each["location"]["name"] for each in scene.fake.project.things["servers"].values()]
    assert sorted(places) == ["fsn1", "fsn1", "hel1"]
    # Whoever began may have used its configurations: the next one has others.
    assert len(scene.registry.given) == 8
    scene.fleet().down(NIGHT)
    assert not scene.left
    assert scene.billed == pytest.approx(scene.fake.project.bill())


def test_a_server_that_somebody_deletes_meanwhile_is_made_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleep, gone = scene.time.sleep, list[str]()

    def meanwhile(seconds: float) -> None:
        sleep(seconds)
        for number, server in list(scene.fake.project.things["servers"].items()):
            if not gone:
                gone.append(server["name"])
                del scene.fake.project.things["servers"][number]

    monkeypatch.setattr(scene.time, "sleep", meanwhile)
    assert gone == [] and len(scene.fleet().up(NIGHT)) == 3
    assert len(gone) == 1 and len(servers(scene)) == 3


def test_a_limit_of_the_project_is_one_line(scene: Scene) -> None:
    scene.fake.project.limits["servers"] = 2
    with pytest.raises(
        UserError,
        match=r"limit exceeded; delete .*, request a higher limit",
    ):
        scene.fleet().up(NIGHT)
    assert not servers(scene)


def test_beyond_a_limit_another_type_is_taken_and_no_other_place(scene: Scene) -> None:
    scene.config = scene.configured(
        lambda text: text.replace('"ccx33"\n', '"ccx33"\ninstead = ["cpx11"]\n')
    )
    scene.fake.faults.append(Fault(status=403, code="resource_limit_exceeded", skip=2))
    scene.fleet().up(NIGHT)
    things = scene.fake.project.things["servers"].values()
    assert [(each["server_type"]["name"], each["location"]["name"]) for each in things] == [
        ("ccx13", "fsn1"),
        ("ccx13", "fsn1"),
        ("cpx11", "fsn1"),
    ]
    assert scene.fake.asked.count("POST /servers") == 4
    assert any("no ccx33 anywhere" in line for line in scene.reported)


def test_a_server_whose_runners_never_come_is_not_paid_for_all_night(scene: Scene) -> None:
    scene.registry.lost = {f"{server}-{job}" for server in ("a", "b") for job in (1, 2)}
    names = scene.fleet().up(NIGHT)
    scene.fleet().down(NIGHT)
    scene.registry.lost = {f"{names[2]}-{job}" for job in (1, 2)}
    began = scene.time.at
    with pytest.raises(
        UserError, match=f"no runner of {names[2]} has registered yet; this lasted longer than"
    ):
        scene.fleet().up(NIGHT)
    assert not servers(scene) and not scene.registry.runners
    assert scene.time.at - began < 700
    assert scene.billed == pytest.approx(scene.fake.project.bill())


def test_a_server_that_is_between_two_jobs_is_there(scene: Scene) -> None:
    names = scene.fleet().up(NIGHT)
    # The first job of each is done, so GitHub forgot its runner; the second has not begun.
    for name in names:
        del scene.registry.runners[f"{name}-1"]
    scene.registry.lost = {f"{name}-2" for name in names}
    assert scene.fleet().up(NIGHT) == names


def test_a_name_that_is_somebody_elses_is_left_to_them(scene: Scene) -> None:
    (name, *_) = scene.fleet().up(NIGHT)
    scene.fleet().down(NIGHT)
    body = {"name": name, "server_type": "ccx13", "image": "debian-12"}
    scene.fake.project.make("servers", body)
    with pytest.raises(
        UserError, match="exists that does not belong to this night; rename or delete it"
    ):
        scene.fleet().up(NIGHT)
    assert list(servers(scene)) == [name]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=503, code="unavailable"),
        Fault(status=500, code="server_error"),
        Fault(status=429, code="rate_limit_exceeded", times=3),
        Fault(status=409, code="conflict"),
        Fault(status=423, code="locked"),
        Fault(),
        Fault(taken=True),
    ],
    ids=lambda fault: fault.code or f"cut-{fault.taken}",
)
@pytest.mark.parametrize("verb", ["up", "down"])
def test_what_passes_is_waited_for_wherever_it_happens(
    scene: Scene, fault: Fault, verb: str
) -> None:
    if verb == "down":
        scene.fleet().up(NIGHT)
    fleet = scene.fleet()
    paths = {"GET": r"/.*", "POST": r"/.*", "DELETE": r"/.*"}
    scene.fake.faults += [
        Fault(method, path, fault.status, fault.code, fault.taken, times=fault.times, skip=skip)
        for method, path in paths.items()
        for skip in range(3)
    ]
    if verb == "up":
        assert len(fleet.up(NIGHT)) == 3 == len(servers(scene))
        assert len(scene.fake.project.things["firewalls"]) == 1
    else:
        fleet.down(NIGHT)
        assert not scene.left
    assert scene.billed == pytest.approx(scene.fake.project.bill())


def test_what_does_not_pass_is_one_line(scene: Scene) -> None:
    scene.fake.faults.append(Fault("GET", "/.*", 503, "unavailable", times=1000))
    with pytest.raises(UserError, match=r"injected \(unavailable\); this lasted longer than 600 s"):
        scene.fleet().up(NIGHT)


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (401, "unauthorized", "rejects the token"),
        (403, "forbidden", "read and write access"),
        (403, "token_readonly", "read and write access"),
        (422, "invalid_input", r"injected \(invalid_input\)"),
    ],
)
def test_what_is_refused_is_one_line_at_once(
    scene: Scene, status: int, code: str, said: str
) -> None:
    scene.fake.faults.append(Fault("POST", "/servers", status, code))
    began = scene.time.at
    with pytest.raises(UserError, match=said):
        scene.fleet().up(NIGHT)
    assert scene.time.at - began < 60
    assert not servers(scene)


def test_the_sdk_does_not_sleep_by_itself(scene: Scene) -> None:
    # Its own retries would take seconds of real time and hide what is asked how often.
    cloud: Cloud = scene.cloud()
    scene.fake.faults.append(Fault("GET", "/pricing", 429, "rate_limit_exceeded", times=2))
    cloud.pricing()
    assert scene.fake.asked == ["GET /pricing"] * 3
    assert scene.time.at == BEGIN + 1 + 2


def test_the_status_reports_age_price_and_expiry(scene: Scene) -> None:
    scene.fleet().up(NIGHT)
    scene.time.at += 1.5 * HOUR
    found = scene.fleet().status()
    assert [each.hours for each in found.servers] == [2, 2, 2]
    assert not any(each.past for each in found.servers)
    assert found.month.amount == pytest.approx(scene.fake.project.bill())
    scene.time.at += 3 * HOUR
    assert all(each.past for each in scene.fleet().status().servers)
    scene.fleet().down(NIGHT)
    after = scene.fleet().status()
    assert not after.servers
    assert after.month.amount == pytest.approx(scene.fake.project.bill())


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/pricing", "not_found"),
        ("POST", "/servers", "not_found"),
        ("POST", "/firewalls", "not_found"),
        ("POST", "/placement_groups", "resource_unavailable"),
    ],
)
def test_what_there_is_not_is_one_line(scene: Scene, method: str, path: str, code: str) -> None:
    scene.fake.faults.append(Fault(method, path, status=404, code=code))
    with pytest.raises(UserError) as raised:
        scene.fleet().up(NIGHT)
    assert "\n" not in str(raised.value)
    assert not scene.fake.project.things["servers"]


def test_a_server_that_is_gone_though_it_was_listed_is_made_anew(scene: Scene) -> None:
    names = scene.fleet().up(NIGHT)
    scene.fake.faults.append(Fault("GET", r"/servers/\d+/actions", status=404, code="not_found"))
    assert scene.fleet().up(NIGHT) == names
    assert scene.billed == pytest.approx(scene.fake.project.bill())


def test_what_somebody_failed_to_do_with_a_server_does_not_cost_it(scene: Scene) -> None:
    scene.fleet().up(NIGHT)
    (first, *_) = scene.fake.project.things["servers"]
    project = scene.fake.project
    project.fail(project.act("servers", first, "poweroff", {}), "locked")
    scene.fleet().up(NIGHT)
    assert first in scene.fake.project.things["servers"]


def test_a_night_that_is_there_needs_no_budget(scene: Scene) -> None:
    names = scene.fleet().up(NIGHT)
    scene.config = scene.configured(lambda text: text.replace("5 EUR", "0.1 EUR"))
    assert scene.fleet().up(NIGHT) == names
