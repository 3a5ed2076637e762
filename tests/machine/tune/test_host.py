"""Programs of this machine: their failures are reported in one line."""

from __future__ import annotations

import pytest

from pipeline.machine.tune.host import run


def test_what_a_program_prints_is_returned() -> None:
    assert run(["echo", "--property"]) == "--property\n"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["sh", "-c", "echo no such device >&2; echo more >&2; exit 3"], "no such device"),
        (["sh", "-c", "exit 3"], "Command .* returned non-zero exit status 3"),
        (["a-program-that-is-nowhere"], "a-program-that-is-nowhere is not installed"),
        (["sleep", "600"], r"sleep did not end within 0 s"),
    ],
    ids=["fails", "fails silently", "missing", "hangs"],
)
def test_why_it_failed(argv: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if argv[0] == "sleep":
        monkeypatch.setattr("pipeline.machine.tune.host.PATIENCE", 0.05)
    with pytest.raises(OSError, match=f"^{said}") as caught:
        run(argv)
    assert "\n" not in str(caught.value)
