"""The verb `status`: what is off its accepted level, until a decision accepts another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import LONGER, Nightshift
from tests.cli.measured import level, write_runs


@pytest.fixture
def fingerprint(nightshift: Nightshift, folder: Path) -> str:
    """A suspected regression at 17.10."""
    (folder / "nightshift.toml").write_text(LONGER)
    write_runs(levels=lambda cell, step: 15_000.0 / level(cell, step))
    assert nightshift("ingest").code == 0
    assert nightshift("detect").code == 0
    (found,) = nightshift("regressions", "--format", "json").json
    return str(found["fingerprint"])


def tones(rows: list[dict[str, Any]]) -> set[str]:
    return {max(filter(None, row["days"].items()))[1]["tone"] for row in rows}


def test_a_decision_with_a_reason_sets_the_level_again(
    nightshift: Nightshift, fingerprint: str
) -> None:
    before = nightshift("status", "--format", "json").json
    assert tones(before) == {"worse"}
    assert {row["note"] for row in before} == {None}
    text = nightshift("status")
    assert text.code == 0
    assert text.out.startswith(f"{len(before)} of {len(before)} series worse than accepted, 0 bet")
    assert "-33.3%" in text.out
    assert nightshift("ack", fingerprint, "--note", "waits for 17.12").code == 0
    after = nightshift("status", "--format", "json").json
    assert tones(after) == {""}
    assert {(row["since"], row["note"], row["fingerprint"]) for row in after} == {
        ("17.10", "waits for 17.12", fingerprint)
    }
    text = nightshift("status")
    assert text.out == f"0 of {len(after)} series worse than accepted, 0 better\n"
    every = nightshift("status", "--all").out
    assert f"{fingerprint[:6]}: accepted by " in every
    assert ": waits for 17.12\n" in every
    nightshift("reopen", fingerprint)
    assert nightshift("status", "--format", "json").json == before


@pytest.mark.usefixtures("fingerprint")
def test_days_and_lines_can_be_chosen(nightshift: Nightshift) -> None:
    rows = nightshift("status", "--format", "json", "--days", "1").json
    assert {len(row["days"]) for row in rows} == {1}
    wrong = nightshift("status", "--line", "minor")
    assert (wrong.code, wrong.out) == (2, "")
    assert "there is no line 'minor'; did you mean" in wrong.err
