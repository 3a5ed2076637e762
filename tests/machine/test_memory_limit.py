from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pipeline.machine.memory_limit import ROOT, check_memory_limits, drop_cached, memory_limit
from pipeline.text.errors import UserError


def group_v2(root: Path, controllers: str = "cpu memory", subtree: str = "cpu memory") -> Path:
    root.mkdir()
    (root / "cgroup.controllers").write_text(f"{controllers}\n")
    (root / "cgroup.subtree_control").write_text(f"{subtree}\n")
    return root


def test_a_limit_is_the_beginning_of_a_command(tmp_path: Path) -> None:
    root = group_v2(tmp_path / "cgroup", subtree="cpu")
    with memory_limit(2_000_000_000, root) as prefix:
        (group,) = root.glob("nightshift-*")
        assert (group / "memory.max").read_text() == "2000000000\n"
        assert (root / "cgroup.subtree_control").read_text() == "+memory\n"
        said = subprocess.run(
            [*prefix, "sh", "-c", "echo $$ $0", "a b"], capture_output=True, text=True, check=True
        )
        # The command runs in the process that entered the group.
        pid, argument = said.stdout.split(maxsplit=1)
        assert (group / "cgroup.procs").read_text() == f"{pid}\n"
        assert argument == "a b\n"
        for file in group.iterdir():
            file.unlink()  # The kernel's files do not keep a group.
    assert not list(root.glob("nightshift-*"))


def test_version_1_is_used_where_version_2_has_no_memory(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    with memory_limit(1_000_000_000, tmp_path):
        (group,) = memory.glob("nightshift-*")
        assert (group / "memory.limit_in_bytes").read_text() == "1000000000\n"
        for file in group.iterdir():
            file.unlink()
    assert not list(memory.glob("nightshift-*"))


def test_groups_of_a_killed_night_are_removed(tmp_path: Path) -> None:
    root = group_v2(tmp_path / "cgroup")
    (root / "nightshift-1-2").mkdir()
    with memory_limit(10**9, root):
        assert not (root / "nightshift-1-2").exists()
        for group in root.glob("nightshift-*"):
            for file in group.iterdir():
                file.unlink()


def test_a_machine_without_writable_groups_says_so_in_one_line(tmp_path: Path) -> None:
    for root in (tmp_path, group_v2(tmp_path / "other", controllers="cpu")):
        with pytest.raises(UserError) as caught:
            check_memory_limits(root)
        assert str(caught.value) == (
            f"memory cannot be limited here ({root} has no memory controller); run nightshift as "
            "root where control groups are writable, or remove memory from the workload"
        )


def test_cached_files_are_forgotten_and_kept(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/file").write_bytes(b"x" * 5000)
    drop_cached(tmp_path)
    assert (tmp_path / "deep/file").read_bytes() == b"x" * 5000


def test_this_machine_limits_memory(tmp_path: Path) -> None:
    try:
        check_memory_limits()
    except UserError as error:
        pytest.skip(str(error))
    grab = "x = bytearray(300_000_000); print(len(x))"
    with memory_limit(100_000_000) as prefix:
        done = subprocess.run([*prefix, "python3", "-c", grab], check=False, capture_output=True)
        assert done.returncode != 0
    with memory_limit(1_000_000_000) as prefix:
        done = subprocess.run([*prefix, "python3", "-c", grab], check=False, capture_output=True)
        assert done.stdout == b"300000000\n"
    assert not list(ROOT.glob("**/nightshift-*"))
