"""The limit of a whole request: to a receiver of samples and to GitHub, from peers that drip."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from pipeline.notify.github import transport
from pipeline.notify.github.failures import CutError
from pipeline.publish import remote
from pipeline.publish.deadline import within
from pipeline.publish.remote import RemoteWriteError, RemoteWriter
from pipeline.publish.samples import TimedValue, TimeSeries, labelled
from tests.fakes.hook import Fault, Hook


@pytest.fixture
def hook() -> Iterator[Hook]:
    hook = Hook()
    with hook.serving():
        yield hook


def test_an_answer_in_time_is_returned_and_an_error_raised() -> None:
    assert within(60.0, lambda: 5) == 5

    def fail() -> None:
        raise ValueError("no answer")

    with pytest.raises(ValueError, match="no answer"):
        within(60.0, fail)


def test_a_request_that_takes_longer_is_abandoned() -> None:
    never = threading.Event()
    with pytest.raises(TimeoutError, match="sent no complete response"):
        within(0.01, never.wait)
    never.set()


def test_github_that_drips_is_cut_and_asked_anew(
    hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "DEADLINE", 0.5)
    send = transport.pygithub(hook.base, "x" * 40)
    hook.faults = [Fault(drips=True)]
    with pytest.raises(CutError, match="sent no complete response"):
        send("GET", "/repos/o/r/issues", {}, None)
    hook.faults = []
    assert send("GET", "/repos/o/r/issues", {}, None).status == 405


def test_a_receiver_of_samples_that_drips_is_out_of_reach(
    hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "DEADLINE", 0.0)
    hook.faults = [Fault(drips=True)]
    series = [TimeSeries(labelled("x"), [TimedValue(1000, 1.0)])]
    with pytest.raises(RemoteWriteError, match="sent no complete response"):
        RemoteWriter(f"{hook.base}/api/v1/write", timeout=0.5, patience=0.0).write(series)
