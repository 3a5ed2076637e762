"""A stateful fake of GitHub's REST API on loopback, with faults as tests choose them."""

from tests.fakes.github.calls import Asked
from tests.fakes.github.faults import (
    Fault,
    cut,
    failing,
    primary_limit,
    secondary_limit,
    slow,
)
from tests.fakes.github.repository import Repository
from tests.fakes.github.server import GithubServer as FakeGithub

__all__ = [
    "Asked",
    "FakeGithub",
    "Fault",
    "Repository",
    "cut",
    "failing",
    "primary_limit",
    "secondary_limit",
    "slow",
]
