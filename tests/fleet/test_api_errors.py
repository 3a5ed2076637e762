"""Every documented error has a meaning, which is one line."""

from __future__ import annotations

import pytest
import requests
from hcloud import APIException

from pipeline.fleet.api_errors import Gone, translated
from pipeline.fleet.retry import TransientError
from pipeline.text.errors import UserError

PASSING = (
    "bad_gateway",
    "conflict",
    "gateway_timeout",
    "locked",
    "maintenance",
    "rate_limit_exceeded",
    "resource_in_use",
    "robot_unavailable",
    "server_error",
    "service_error",
    "timeout",
    "unavailable",
    "unknown_error",
    429,
    500,
    502,
    504,
)
FINAL: dict[str | int, tuple[type[UserError], str]] = {
    "not_found": (Gone, "exist"),
    404: (Gone, "exist"),
    "unauthorized": (UserError, "set a valid one"),
    "forbidden": (UserError, "read and write access"),
    "token_readonly": (UserError, "read and write access"),
    "resource_locked": (UserError, "the resource is locked: contact Hetzner support"),
    "deprecated_api_endpoint": (UserError, "too old for the API: upgrade it"),
    "invalid_input": (UserError, r"said \(invalid_input\)"),
    "json_error": (UserError, r"said \(json_error\)"),
    "protected": (UserError, r"said \(protected\)"),
    "unsupported_error": (UserError, r"said \(unsupported_error\)"),
}


def answered(code: str | int, said: str = "said") -> None:
    def ask() -> None:
        raise APIException(code, said, None)

    translated(ask)


@pytest.mark.parametrize("code", PASSING)
def test_what_passes(code: str | int) -> None:
    with pytest.raises(TransientError, match="said"):
        answered(code)


@pytest.mark.parametrize("code", FINAL)
def test_what_does_not_pass(code: str | int) -> None:
    kind, said = FINAL[code]
    with pytest.raises(UserError, match=said) as raised:
        answered(code)
    assert type(raised.value) is kind


def test_no_answer_passes() -> None:
    def ask() -> None:
        raise requests.ReadTimeout

    with pytest.raises(TransientError, match="does not respond"):
        translated(ask)


def test_what_others_say_is_one_line_of_what_a_terminal_can_show() -> None:
    with pytest.raises(UserError) as raised:
        answered("invalid_input", "one\ntwo \x1b[31m" + 300 * "x")
    text = str(raised.value)
    assert "one two  [31m" in text and "\x1b" not in text and len(text) < 260
