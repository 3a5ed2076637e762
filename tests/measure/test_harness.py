"""Which failures of a load generator are the harness's and which are results."""

from __future__ import annotations

import signal

import pytest

from pipeline.measure.harness import client_error
from pipeline.measure.step import Executed


def ended(exit_code: int, text: str = "") -> Executed:
    return Executed(text=text, exit_code=exit_code, seconds=1.0, samples=(), hung=False)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_from_outside_is_a_harness_error(how: signal.Signals) -> None:
    assert client_error(ended(-how)) == f"the load generator was ended by {how.name}: no output"


@pytest.mark.parametrize("how", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS])
def test_a_crash_is_a_result(how: signal.Signals) -> None:
    assert client_error(ended(-how)) == ""


@pytest.mark.parametrize(("code", "text"), [(0, ""), (1, "FATAL: no such table"), (127, "what")])
def test_what_the_dbms_refuses_is_a_result(code: int, text: str) -> None:
    assert client_error(ended(code, text)) == ""


def test_a_load_generator_that_cannot_be_run_is_a_harness_error() -> None:
    why = client_error(ended(126, "setpriv: failed to execute sysbench: Permission denied"))
    assert why.startswith("the load generator cannot be run (exit code 126")
