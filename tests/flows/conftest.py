"""Flows of the product on a simulated machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulated import Simulation, simulate


@pytest.fixture
def simulation(server_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """A simulated machine in a folder of its own."""
    return simulate(server_folder, monkeypatch)
