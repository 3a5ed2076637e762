"""A stateful fake of Hetzner Cloud's API on loopback, with faults that can be injected."""

from __future__ import annotations

from tests.fakes.hetzner.faults import Fault
from tests.fakes.hetzner.project import Project
from tests.fakes.hetzner.refused import Refused
from tests.fakes.hetzner.server import FakeHetzner

__all__ = ["FakeHetzner", "Fault", "Project", "Refused"]
