"""The verb publish, and the end of a night: what goes wrong there costs no night."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.cli import publish
from pipeline.execute.discover import remember
from tests.cli.conftest import CONFIG, Nightshift
from tests.execute.samples import known
from tests.fakes.receiver import Receiver


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
    assert f"not all was published: {type(problem).__name__}: " in ran.err
    assert "Traceback" not in ran.err
