"""The fleet's verbs against a stateful fake, by the real SDK."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.fleet.cloud import Cloud
from pipeline.fleet.night_variables import NightVariables
from pipeline.fleet.quote import QuoteRefusedError
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
    names = scene.up(NIGHT)
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
    assert all(not wall["rules"] for wall in project.things["firewalls"].values())
    (group,) = project.things["placement_groups"].values()
    assert len(group["servers"]) == 2
    swept = scene.fleet().down(NIGHT)
    assert len(swept.deleted) == 6 and not swept.left
    assert not scene.left
    assert not scene.registry.runners


def test_nights_and_pipelines_do_not_touch_each_other(scene: Scene) -> None:
    scene.up("1")
    first = scene.left
    scene.up("1-2")
    runners = dict(scene.registry.runners)
    scene.config = scene.configured(lambda text: text.replace('"test"', '"other"'))
    scene.up("1")
    scene.fleet().down("1")
    scene.config = scene.configured()
    assert set(runners) == set(scene.registry.runners)
    scene.fleet().down("1-2")
    assert scene.left == first
    assert len(scene.registry.runners) == 6


def test_a_quote_is_of_the_dearest_place(scene: Scene) -> None:
    near = scene.fleet().quote().total.amount
    scene.config = scene.configured(lambda text: text.replace('"hel1"', '"ash"'))
    assert near * 1.09 < scene.fleet().quote().total.amount < near * 1.1
    assert scene.fleet().quote(seconds=HOUR + 1).hours == 2
    assert made(scene) == 0


def test_the_sdk_does_not_sleep_by_itself(scene: Scene) -> None:
    # Its own retries would take seconds of real time and hide what is asked how often.
    cloud: Cloud = scene.cloud()
    scene.fake.faults.append(Fault("GET", "/pricing", 429, "rate_limit_exceeded", times=2))
    cloud.pricing()
    assert scene.fake.asked == ["GET /pricing"] * 3
    assert scene.time.at == BEGIN + 1 + 2


def test_the_status_reports_age_price_and_expiry(scene: Scene) -> None:
    scene.up(NIGHT)
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


def order(scene: Scene, attempt: int = 1, **work: float) -> NightVariables:
    """Return the variables of a night in which these classes are due."""
    fleet = scene.fleet()
    return fleet.order(fleet.gate(NIGHT, work), NIGHT, attempt=attempt)


def test_only_the_classes_that_are_due_are_ordered(scene: Scene) -> None:
    ordered = order(scene, big=60.0, home=60.0)
    assert list(ordered.classes) == ["big"]
    assert ordered.classes["big"].server_count == 1
    assert list(scene.registry.runners) == [
        "test-run-77-1-f4fa71-big-1-1",
        "test-run-77-1-f4fa71-big-1-2",
    ]
    assert made(scene) == 0
    assert not scene.fleet().gate(NIGHT, {"home": 60.0}).server_requests
    assert not scene.fleet().gate(NIGHT, {}).server_requests


def test_each_server_gets_runners_of_its_class_and_no_token(scene: Scene, tmp_path: Path) -> None:
    ordered = order(scene, ccx13=0.0, big=0.0)
    assert {
        name: [len(each) for each in given] for name, given in ordered.runner_configurations.items()
    } == {
        "ccx13": [2, 2],
        "big": [2],
    }
    given = [
        one for each in ordered.runner_configurations.values() for jobs in each for one in jobs
    ]
    assert sorted(given) == sorted(scene.registry.given) and len(set(given)) == 6
    assert set(scene.registry.runners.values()) == {
        ("self-hosted", "ccx13"),
        ("self-hosted", "big"),
    }
    ordered.write(tmp_path / "night.tfvars.json")
    ordered.write(tmp_path / "night.tfvars.json")
    assert (tmp_path / "night.tfvars.json").stat().st_mode & 0o777 == 0o600
    text = (tmp_path / "night.tfvars.json").read_text()
    assert "h" * 64 not in text
    assert json.loads(text)["expires"] == "2026-03-02T02:00:00Z"


def test_over_budget_nothing_is_made_and_the_sum_is_said(scene: Scene) -> None:
    scene.config = scene.configured(lambda text: text.replace('"5 EUR"', '"0.50 EUR"'))
    with pytest.raises(QuoteRefusedError) as caught:
        scene.up(NIGHT)
    # 4 hours of two ccx13 and a ccx33, each with an address, and 19 % on all of it.
    assert str(caught.value) == (
        "3 servers for 4 h cost up to 0.59 EUR: the total of 0.59 EUR exceeds per_night = 0.50 "
        "EUR in [fleet]; no server is created"
    )
    assert made(scene) == 0 and not scene.registry.given and not scene.lives()


def test_what_a_month_cost_counts_against_its_budget(scene: Scene) -> None:
    scene.config = scene.configured(lambda text: text.replace('"20 EUR"', '"1 EUR"'))
    scene.up("1")
    with pytest.raises(
        QuoteRefusedError, match=r"plus 0\.59 EUR spent before: the total of 1\.17 EUR exceeds"
    ):
        scene.up("2")
    # Gone after an hour, they cost that hour only.
    scene.fleet().down("1")
    scene.up("2")
    scene.fleet().down("2")
    # Another month has a budget of its own.
    scene.time.at += 31 * 24 * HOUR
    assert scene.fleet().quote().month.amount == 0


def test_a_server_that_the_record_lacks_counts_against_the_budget(scene: Scene) -> None:
    scene.up("1")
    (scene.folder / "fleet.jsonl").unlink()
    assert scene.fleet().gate(NIGHT, {"big": 0.0}).month.amount == pytest.approx(0.5855, abs=1e-3)


def test_steps_that_outlast_the_servers_are_refused(scene: Scene) -> None:
    assert scene.fleet().gate(NIGHT, {"ccx13": 8 * HOUR}).server_requests[0].seconds == 4 * HOUR
    with pytest.raises(
        QuoteRefusedError,
        match="ccx13 take about 4h00m on 2 servers, longer than the 3h00m that servers live; set a",
    ):
        scene.fleet().gate(NIGHT, {"ccx13": 8 * HOUR}, 3 * HOUR)


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
    with pytest.raises(UserError, match=said) as caught:
        scene.up(NIGHT)
    assert not isinstance(caught.value, QuoteRefusedError)
    assert made(scene) == 0 and not scene.registry.given


def test_the_next_place_is_taken_where_one_is_sold_out(scene: Scene) -> None:
    scene.fake.project.sold_out = {("ccx13", "fsn1"), ("ccx33", "fsn1"), ("ccx33", "hel1")}
    scene.config = scene.configured(
        lambda text: text.replace('"ccx33"\n', '"ccx33"\ninstead = ["ccx63"]\n')
    )
    scene.up(NIGHT)
    things = scene.fake.project.things["servers"].values()
    assert [(each["server_type"]["name"], each["location"]["name"]) for each in things] == [
        ("ccx13", "hel1"),
        ("ccx13", "hel1"),
        ("ccx63", "fsn1"),
    ]


def test_without_capacity_the_night_is_refused(scene: Scene) -> None:
    scene.fake.project.sold_out = {("ccx33", "fsn1"), ("ccx33", "hel1")}
    with pytest.raises(QuoteRefusedError, match="ccx33 is sold out in fsn1, hel1; name other"):
        scene.fleet().gate(NIGHT, {"big": 0.0, "ccx13": 0.0})
    assert scene.fleet().gate(NIGHT, {"ccx13": 0.0}).server_requests


def test_another_attempt_takes_another_place(scene: Scene) -> None:
    places = [order(scene, attempt, big=0.0).classes["big"].location for attempt in (1, 2, 3)]
    assert places == ["fsn1", "hel1", "hel1"]
    # A runner whose configuration no server has is registered again.
    assert len(scene.registry.runners) == 2


def test_a_server_whose_runners_never_come_is_an_error(scene: Scene) -> None:
    names = scene.up(NIGHT)
    scene.registry.lost = {f"{names[2]}-{job}" for job in (1, 2)}
    began = scene.time.at
    with pytest.raises(
        UserError, match=f"no runner of {names[2]} has registered yet; this lasted longer than"
    ):
        scene.fleet().ready(NIGHT)
    assert scene.time.at - began < 700


def test_a_server_that_is_between_two_jobs_is_there(scene: Scene) -> None:
    names = scene.up(NIGHT)
    # The first job of each is done, so GitHub forgot its runner; the second has not begun.
    for name in names:
        del scene.registry.runners[f"{name}-1"]
    scene.registry.lost = {f"{name}-2" for name in names}
    assert scene.fleet().ready(NIGHT) == names


def test_a_night_without_servers_is_not_ready(scene: Scene) -> None:
    with pytest.raises(UserError, match=r"the night run-77\.1 has no servers; create them"):
        scene.fleet().ready(NIGHT)


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
def test_what_passes_is_waited_for_wherever_it_happens(scene: Scene, fault: Fault) -> None:
    scene.up(NIGHT)
    scene.fake.faults += [
        Fault(method, r"/.*", fault.status, fault.code, fault.taken, times=fault.times, skip=skip)
        for method in ("GET", "DELETE")
        for skip in range(3)
    ]
    assert scene.fleet().gate("2", {"big": 0.0}).server_requests
    scene.fleet().down(NIGHT)
    assert not scene.left
    assert scene.billed == pytest.approx(scene.fake.project.bill())


def test_what_does_not_pass_is_one_line(scene: Scene) -> None:
    scene.fake.faults.append(Fault("GET", "/.*", 503, "unavailable", times=1000))
    with pytest.raises(UserError, match=r"injected \(unavailable\); this lasted longer than 600 s"):
        scene.fleet().ready(NIGHT)


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (401, "unauthorized", "rejects the token"),
        (403, "forbidden", "read and write access"),
        (404, "not_found", "check that the names in"),
        (422, "invalid_input", r"injected \(invalid_input\)"),
    ],
)
def test_what_is_refused_is_one_line_at_once(
    scene: Scene, status: int, code: str, said: str
) -> None:
    scene.fake.faults.append(Fault("GET", "/server_types", status, code))
    began = scene.time.at
    with pytest.raises(UserError, match=said):
        scene.fleet().gate(NIGHT, {"big": 0.0})
    assert scene.time.at == began
