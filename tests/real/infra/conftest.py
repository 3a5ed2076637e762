"""Each program with a copy of ``infra/`` of its own, and Hetzner Cloud as a fake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.hetzner import FakeHetzner
from tests.real.infra.terraform import PROGRAMS, Terraform, terraform


@pytest.fixture(scope="session", params=PROGRAMS)
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    """A program with a copy for all tests that keep no state."""
    return terraform(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="session")
def ready(shared: Terraform) -> Callable[[str], None]:
    """Make a folder of the shared copy ready, once."""
    done: set[str] = set()

    def make(folder: str) -> None:
        if folder not in done:
            shared.init(folder, "-backend=false")
            done.add(folder)

    return make


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Terraform:
    """A program with a copy for one test."""
    return terraform(request.param, tmp_path)


@pytest.fixture
def cloud() -> Iterator[FakeHetzner]:
    """Hetzner Cloud, empty."""
    fake = FakeHetzner()
    with fake.serving():
        yield fake
