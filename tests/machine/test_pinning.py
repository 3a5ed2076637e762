from __future__ import annotations

import os
from itertools import product

import pytest

from pipeline.machine.pinning import (
    ConcurrentWork,
    available,
    choose,
    pinned,
    read_pin,
    show_pinning,
    show_processors,
)
from pipeline.machine.topology import Core, single_cores
from pipeline.model import Pinning

SERVER = 9
"""Background work of a usual server: 4 processes, 4 vacuum workers and a reader."""


def machine(count: int, threads: int = 1, nodes: int = 1) -> tuple[Core, ...]:
    """A machine as the kernel numbers it: the second threads of all cores after the first ones."""
    return tuple(
        Core(tuple(core + count * thread for thread in range(threads)), core * nodes // count)
        for core in range(count)
    )


MACHINES = [
    machine(count, threads, nodes)
    for count in (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)
    for threads in (1, 2)
    for nodes in (1, 2, 4)
    if count >= 2 * nodes
]


def cores_of(processors: tuple[int, ...], cores: tuple[Core, ...]) -> set[Core]:
    return {core for core in cores if set(core.processors) & set(processors)}


@pytest.mark.parametrize("background", [2, SERVER, 24])
@pytest.mark.parametrize("embedded", [False, True])
def test_no_core_does_two_things_where_there_are_enough(background: int, embedded: bool) -> None:
    for cores, clients in product(MACHINES, (1, 2, 3, 4, 8, 12, 16, 24, 37, 48, 96)):
        pinning = choose(ConcurrentWork(clients, background, embedded), cores)
        server, client, beside, ours = (
            cores_of(each, cores)
            for each in (pinning.server, pinning.client, pinning.background, pinning.harness)
        )
        assert server and client and ours
        if pinning.background:
            # Background work is not on a measured core, neither on the other thread of one.
            assert beside.isdisjoint(server | client)
            assert len(server) == clients
            assert len(beside) <= background
        else:
            # Then there were too few cores for both.
            generator = 0 if embedded or clients == 1 else (clients + 1) // 2
            assert clients + generator + min(background, 8, len(cores) // 4 or 1) > len(cores)
        if clients > 1 and not embedded:
            assert server.isdisjoint(client | ours)
        else:
            assert pinning.server == pinning.client
            assert ours.isdisjoint(server) or clients >= len(cores)


@pytest.mark.parametrize("background", [1, SERVER, 30])
def test_one_client_on_eight_cores_has_the_background_work_elsewhere(background: int) -> None:
    for cores in MACHINES:
        if len(cores) >= 8:
            pinning = choose(ConcurrentWork(1, background), cores)
            beside = cores_of(pinning.background, cores)
            assert len(pinning.server) == 1
            assert pinning.client == pinning.server
            assert len(beside) == min(background, len(cores) - 2)
            assert beside.isdisjoint(cores_of(pinning.server, cores))
            assert not set(pinning.harness) & {*pinning.server, *pinning.background}


def test_measured_cores_do_not_depend_on_how_much_background_work_is_configured() -> None:
    for count, clients in product((8, 16, 24, 48, 96), (1, 3, 12, 16, 40)):
        few, many = (choose(ConcurrentWork(clients, work), machine(count)) for work in (8, 24))
        assert (few.server, few.client) == (many.server, many.client)


def test_one_node_holds_everything_that_fits_it() -> None:
    cores = machine(48, nodes=2)
    pinning = choose(ConcurrentWork(4, SERVER), cores)
    nodes = {
        core.node
        for part in (pinning.server, pinning.client, pinning.background)
        for core in cores_of(part, cores)
    }
    assert nodes == {1}
    assert {core.node for core in cores_of(pinning.harness, cores)} == {0}


def test_the_largest_node_is_used_first() -> None:
    cores = (*(Core((number,), 0) for number in range(6)), Core((6,), 1), Core((7,), 1))
    assert choose(ConcurrentWork(1, 2), cores) == Pinning(
        server=(5,), client=(5,), background=(3, 4), harness=(6,)
    )


@pytest.mark.parametrize(
    ("count", "clients", "said"),
    [
        (2, 1, "server and client 1, background work 0"),
        (2, 2, "server 1, client 0"),
        (4, 1, "server and client 3, background work 1-2"),
        (4, 2, "server 2-3, background work 0, client 1"),
        (4, 4, "server 1-3, client 0"),
        (8, 1, "server and client 7, background work 1-6"),
        (8, 3, "server 5-7, background work 1-2, client 3-4"),
        (24, 16, "server 6-23, client 0-5"),
        (48, 1, "server and client 47, background work 38-46"),
        (48, 16, "server 32-47, background work 7-15, client 16-31"),
        (48, 48, "server 12-47, client 0-11"),
    ],
)
def test_the_documented_placements(count: int, clients: int, said: str) -> None:
    assert show_pinning(choose(ConcurrentWork(clients, SERVER), machine(count))) == said


def test_one_client_has_a_core_without_the_work_of_its_sibling() -> None:
    pinning = choose(ConcurrentWork(1, 2), machine(4, threads=2))
    assert pinning == Pinning(server=(3,), client=(3,), background=(1, 2, 5, 6), harness=(0, 4))


def test_an_embedded_dbms_without_background_work_leaves_one_core() -> None:
    assert choose(ConcurrentWork(1, embedded=True), single_cores(2)) == Pinning(
        server=(1,), client=(1,), harness=(0,)
    )
    assert choose(ConcurrentWork(2, embedded=True), single_cores(2)) == Pinning(
        server=(0, 1), client=(0, 1), harness=(0,)
    )


def test_one_core_with_two_threads_is_two() -> None:
    assert choose(ConcurrentWork(2, SERVER), (Core((0, 1)),)) == Pinning(
        server=(1,), client=(0,), harness=(0,)
    )


@pytest.mark.parametrize("clients", [1, 16])
@pytest.mark.parametrize("cores", [(Core((0,)),), (Core((5,)),)])
def test_one_processor_is_not_pinned(clients: int, cores: tuple[Core, ...]) -> None:
    assert choose(ConcurrentWork(clients, SERVER), cores) == Pinning()


def test_the_choice_does_not_depend_on_order_or_gaps() -> None:
    cores = tuple(Core((number,)) for number in (9, 2, 5))
    assert choose(ConcurrentWork(1, SERVER), cores) == choose(
        ConcurrentWork(1, SERVER), tuple(reversed(cores))
    )
    assert choose(ConcurrentWork(1, SERVER), cores).server == (9,)


def test_available_is_what_the_kernel_allows() -> None:
    allowed = os.sched_getaffinity(0)
    assert available() == tuple(sorted(allowed))
    os.sched_setaffinity(0, {max(allowed)})
    try:
        assert available() == (max(allowed),)
    finally:
        os.sched_setaffinity(0, allowed)


def test_processors_can_be_named() -> None:
    assert read_pin("0-2,5:8-9") == ((0, 1, 2, 5), (8, 9))
    assert pinned("4-7:2-3", range(8)) == Pinning(
        server=(4, 5, 6, 7), client=(2, 3), harness=(0, 1)
    )
    assert pinned("1:0", range(2)) == Pinning(server=(1,), client=(0,), harness=(0,))


@pytest.mark.parametrize("text", ["", "0-3", "0:", ":1", "3-0:4", "a:b", "0:1:2", "0 : 1", "-1:0"])
def test_other_texts_name_no_processors(text: str) -> None:
    with pytest.raises(ValueError, match=r'for example "0-7:8-9"'):
        read_pin(text)


def test_named_processors_must_exist() -> None:
    with pytest.raises(ValueError, match=r"do not exist \(2,8-9\); the machine has 0-1"):
        pinned("0-2:8-9", range(2))


def test_processors_are_listed_as_the_kernel_does() -> None:
    assert show_processors((0, 1, 2, 5, 8, 9)) == "0-2,5,8-9"
    assert show_processors(()) == "none"
