"""An owner is gone only where that can be proven."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.machine.kernel_files import Tree
from pipeline.machine.process_owner import Observer, OwnerState, ProcessIdentity, ProcessNamespace

HERE = ProcessNamespace(host="a", machine="m1", boot="b1", namespace="pid:[1]")
STAT = "{pid} (a) b (c) {state} 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 {started} 1 1"


def observer(root: Path, *, hidden: tuple[int, ...] = ()) -> Observer:
    """Return one who sees process 7, begun at 500, and 8, a zombie; hidden ones only exist."""
    files = {
        "etc/machine-id": "m1\n",
        "proc/sys/kernel/random/boot_id": "b1\n",
        "proc/7/stat": STAT.format(pid=7, state="S", started=500),
        "proc/8/stat": STAT.format(pid=8, state="Z", started=500),
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    namespace = root / "proc/self/ns/pid"
    namespace.parent.mkdir(parents=True, exist_ok=True)
    namespace.unlink(missing_ok=True)
    namespace.symlink_to("pid:[1]")
    return Observer(Tree(root), lambda pid: pid in {7, 8, *hidden})


@pytest.mark.parametrize(
    ("process", "place", "standing"),
    [
        ((7, 500), HERE, OwnerState.LIVES),
        ((7, 400), HERE, OwnerState.GONE),
        ((8, 500), HERE, OwnerState.GONE),
        ((9, 500), HERE, OwnerState.GONE),
        ((10, 500), HERE, OwnerState.LIVES),
        ((7, 0), HERE, OwnerState.LIVES),
        ((9, 0), HERE, OwnerState.GONE),
        ((7, 500), HERE.model_copy(update={"boot": "b0"}), OwnerState.GONE),
        ((7, 500), HERE.model_copy(update={"boot": "b0", "machine": "m2"}), OwnerState.UNKNOWN),
        ((7, 500), HERE.model_copy(update={"boot": "b0", "machine": ""}), OwnerState.UNKNOWN),
        ((9, 500), HERE.model_copy(update={"boot": ""}), OwnerState.UNKNOWN),
        ((9, 500), HERE.model_copy(update={"namespace": "pid:[2]"}), OwnerState.UNKNOWN),
        ((9, 500), HERE.model_copy(update={"host": "renamed"}), OwnerState.GONE),
    ],
    ids=[
        "lives",
        "its number is another's now",
        "a zombie",
        "no such process",
        "hidden in /proc",
        "start unknown and there",
        "start unknown and not there",
        "before this start of the machine",
        "another machine",
        "a machine without an id",
        "a kernel without an id of its start",
        "another container",
        "this machine under another name",
    ],
)
def test_what_can_be_proven(
    tmp_path: Path, process: tuple[int, int], place: ProcessNamespace, standing: OwnerState
) -> None:
    pid, started = process
    found = observer(tmp_path, hidden=(10,)).standing(
        ProcessIdentity(pid=pid, started=started), place
    )
    assert found is standing


def test_without_an_id_of_this_start_nothing_is_proven(tmp_path: Path) -> None:
    blind = observer(tmp_path)
    (tmp_path / "proc/sys/kernel/random/boot_id").unlink()
    assert blind.standing(ProcessIdentity(pid=9, started=500), HERE) is OwnerState.UNKNOWN


def test_this_process_lives_and_one_that_ended_is_gone() -> None:
    real = Observer()
    assert real.current_process().pid == os.getpid()
    assert real.current_process().started > 0
    assert real.standing(real.current_process(), real.place()) is OwnerState.LIVES
    code = (
        "from pipeline.machine.process_owner import Observer;"
        "print(Observer().current_process().model_dump_json())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code + "; input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    ) as child:
        assert child.stdout is not None
        other = ProcessIdentity.model_validate_json(child.stdout.readline())
        assert real.standing(other, real.place()) is OwnerState.LIVES
        child.kill()
        child.wait()
    assert real.standing(other, real.place()) is OwnerState.GONE
