"""Processes as the kernel lists them."""

from __future__ import annotations

from pathlib import Path

from pipeline.machine.kernel_files import Tree
from pipeline.machine.processes import ProcessSnapshot, read_processes


def test_a_process_whose_name_is_made_to_mislead(tmp_path: Path) -> None:
    rest = "S 1 2 3 0 -1 4 0 0 0 0 70 30 0 0 20 0 1 0 4711 1 1"
    for pid, text in ("812", f"812 (a) S (b c) {rest}"), ("9", ""):
        (tmp_path / "proc" / pid).mkdir(parents=True)
        (tmp_path / "proc" / pid / "stat").write_text(text)
    assert read_processes(Tree(tmp_path)) == {
        (812, 4711): ProcessSnapshot("a) S (b c", 1, 100, 0, 70)
    }
