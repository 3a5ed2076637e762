from __future__ import annotations

import os

import pytest

from pipeline.machine.pinning import available, choose
from pipeline.model import Pinning


def test_one_client_shares_the_last_processor_with_the_server() -> None:
    pinning = choose(1, range(4))
    assert pinning == Pinning(server=(3,), client=(3,), harness=(0, 1, 2))


@pytest.mark.parametrize("clients", [2, 4, 48])
@pytest.mark.parametrize("count", [2, 3, 4, 8, 48])
def test_many_clients_never_share_a_processor_with_the_server(clients: int, count: int) -> None:
    pinning = choose(clients, range(count))
    assert set(pinning.server).isdisjoint(pinning.client + pinning.harness)
    assert sorted(pinning.server + pinning.client) == list(range(count))
    assert len(pinning.client) == max(1, count // 4)


@pytest.mark.parametrize("clients", [1, 16])
@pytest.mark.parametrize("processors", [(), (0,), (5,)])
def test_one_processor_is_not_pinned(clients: int, processors: tuple[int, ...]) -> None:
    assert choose(clients, processors) == Pinning()


def test_the_choice_does_not_depend_on_order_or_gaps() -> None:
    assert choose(1, (9, 2, 5)) == choose(1, (2, 5, 9))
    assert choose(1, (9, 2, 5)).server == (9,)
    assert choose(2, (9, 2, 5)) == Pinning(server=(5, 9), client=(2,), harness=(2,))


def test_available_is_what_the_kernel_allows() -> None:
    allowed = os.sched_getaffinity(0)
    assert available() == tuple(sorted(allowed))
    os.sched_setaffinity(0, {max(allowed)})
    try:
        assert available() == (max(allowed),)
    finally:
        os.sched_setaffinity(0, allowed)
