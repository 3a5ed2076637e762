"""The verb publish, and the end of a night: what goes wrong there costs no night."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.measure.discover import remember
from pipeline.publish.samples import Labels, TimedValue
from pipeline.use_cases import publish
from tests.cli.conftest import CONFIG, Nightshift
from tests.fakes.receiver import Fault, Receiver
from tests.measure.samples import known


@pytest.fixture
def receiver(folder: Path) -> Iterator[Receiver]:
    """A receiver, which the configuration names with a token in its address."""
    server = Receiver()
    with server.serving():
        url = f"{server.url}?token=opensesame"
        (folder / "nightshift.toml").write_text(f'{CONFIG}\n[publish]\nurl = "{url}"\n')
        yield server


def test_a_token_in_the_address_is_never_shown(
    nightshift: Nightshift, night: list[tuple[str, int]], receiver: Receiver
) -> None:
    for verb in (("nightly",), ("publish", "--rebuild"), ("publish", "--format", "json")):
        ran = nightshift(*verb)
        assert ran.code == 0
        assert "opensesame" not in ran.out + ran.err
        assert receiver.url in ran.out


def test_results_that_are_kept_apart_are_not_published(
    nightshift: Nightshift, night: list[tuple[str, int]], receiver: Receiver
) -> None:
    remember(known(), Path("apart"))
    assert nightshift("nightly", "--results", "apart").code == 0
    assert receiver.asked == []
    assert not Path("apart/published.db").exists()


@pytest.mark.parametrize("problem", [OSError("odd"), ValueError("odd"), KeyError("odd")])
def test_no_error_of_publishing_is_one_of_the_night(
    nightshift: Nightshift,
    night: list[tuple[str, int]],
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    problem: Exception,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr(publish, "publish", fail)
    ran = nightshift("nightly", "--format", "json")
    assert ran.code == 0
    assert ran.json["published"]["complete"] is False
    assert f"publishing was incomplete: {type(problem).__name__}: " in ran.err
    assert "Traceback" not in ran.err


FAULTS = {
    "answers 500": Fault(500, "broken"),
    "answers 500 after it took all": Fault(500, "broken", taken=True),
    "full disk": Fault(500, "write /data/wal/00000000: no space left on device"),
    "cut off": Fault(),
    "cut off after it took all": Fault(taken=True),
    "busy for an hour": Fault(429, "later", {"Retry-After": "3600"}),
    "does not let us": Fault(403, "forbidden"),
    "moved": Fault(302, "", {"Location": "http://127.0.0.1:1/"}),
}
"""What a receiver answers, for as long as a night is patient."""


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
@pytest.mark.parametrize("taken", [0, 1], ids=["at first", "in the middle"])
def test_a_night_succeeds_whatever_its_receiver_does_and_the_rest_comes_later(
    nightshift: Nightshift,
    night: list[tuple[str, int]],
    receiver: Receiver,
    folder: Path,
    fault: Fault,
    taken: int,
) -> None:
    config = folder / "nightshift.toml"
    config.write_text(f'{config.read_text()}patience = "500ms"\n')
    # The newest sample comes first, in two requests of its own: its series is sent ahead.
    receiver.faults = [Fault(204, taken=True)] * (2 * taken) + [fault] * 100
    ran = nightshift("nightly")
    assert ran.code == 0
    assert len([line for line in ran.err.splitlines() if "publishing was incomplete" in line]) == 1
    assert "published " not in ran.out
    receiver.faults.clear()
    # What is out of order is given up soon; what is well may be slow.
    config.write_text(config.read_text().replace('patience = "500ms"\n', ""))
    later = nightshift("publish")
    assert (later.code, later.err) == (0, "")
    again = nightshift("publish")
    assert "published nothing new" in again.out
    rebuilt = Receiver()
    with rebuilt.serving():
        config.write_text(config.read_text().replace(receiver.url, rebuilt.url))
        assert nightshift("publish").code == 0
    assert measured(receiver) == measured(rebuilt) != {}


def test_what_a_night_has_refused_is_reported_and_the_others_are_taken(
    nightshift: Nightshift, night: list[tuple[str, int]], receiver: Receiver
) -> None:
    def refuses(labels: Labels, sample: TimedValue) -> str:
        return "not today" if ("step", "scan_range=100") in labels else ""

    receiver.refuses = refuses
    ran = nightshift("nightly")
    assert ran.code == 0
    assert "refused" in ran.err
    assert "permanently: not today" in ran.err
    assert not any(("step", "scan_range=100") in labels for labels in receiver.stored)
    asked = len(receiver.asked)
    assert "published nothing new" in nightshift("publish").out
    # The newest sample and the last one, both ahead and then again: what was refused is not tried
    # any more.
    assert len(receiver.asked) == asked + 4


def test_a_folder_in_the_way_of_the_site_ends_no_night(
    nightshift: Nightshift, night: list[tuple[str, int]], receiver: Receiver
) -> None:
    Path("results/site").mkdir(parents=True)
    Path("results/site/index.html").write_text("somebody else's")
    ran = nightshift("nightly", "--format", "json")
    assert ran.code == 0
    assert "results/site" in ran.err
    assert ran.json["site"] is None
    assert ran.json["published"]["complete"] is True
    assert Path("results/site/index.html").read_text() == "somebody else's"


def measured(receiver: Receiver) -> dict[Labels, dict[int, float]]:
    """What a receiver was sent, without the heartbeat of publishing."""
    return {
        labels: values
        for labels, values in receiver.stored.items()
        if not dict(labels)["__name__"].startswith("nightshift_publish_")
    }
