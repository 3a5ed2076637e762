from __future__ import annotations

from pathlib import Path

from pipeline.machine.kernel_files import Tree
from pipeline.machine.topology import Core, read_cores, single_cores


def tree(folder: Path, siblings: list[str], nodes: dict[int, str]) -> Tree:
    for processor, together in enumerate(siblings):
        topology = folder / f"sys/devices/system/cpu/cpu{processor}/topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(f"{together}\n")
    for number, listed in nodes.items():
        node = folder / f"sys/devices/system/node/node{number}"
        node.mkdir(parents=True)
        (node / "cpulist").write_text(f"{listed}\n")
    return Tree(folder)


def test_siblings_are_one_core_of_their_node(tmp_path: Path) -> None:
    kernel = tree(tmp_path, ["0,4", "1,5", "2,6", "3,7"] * 2, nodes={0: "0-1,4-5", 1: "2-3,6-7"})
    assert read_cores(range(8), kernel) == (
        Core((0, 4), 0),
        Core((1, 5), 0),
        Core((2, 6), 1),
        Core((3, 7), 1),
    )


def test_only_usable_processors_count(tmp_path: Path) -> None:
    kernel = tree(tmp_path, ["0-1", "0-1", "2-3", "2-3"], nodes={0: "0-3"})
    assert read_cores((1, 2, 3), kernel) == (Core((1,)), Core((2, 3)))


def test_a_machine_that_tells_nothing_has_single_cores(tmp_path: Path) -> None:
    assert read_cores((0, 2), Tree(tmp_path)) == (Core((0,)), Core((2,)))
    assert single_cores(2) == (Core((0,)), Core((1,)))


def test_this_machine_has_every_processor_once() -> None:
    processors = [each for core in read_cores({0}) for each in core.processors]
    assert processors == [0]
