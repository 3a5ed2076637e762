"""The fake is what the real SDK takes for Hetzner Cloud, also as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from hcloud import APIException, Client
from hcloud.actions import ActionFailedException
from hcloud.images import Image
from hcloud.locations import Location
from hcloud.server_types import ServerType

from tests.fakes.hetzner import FakeHetzner, Fault
from tests.fakes.hetzner.server import TOKEN


@pytest.fixture
def fake() -> Iterator[FakeHetzner]:
    fake = FakeHetzner()
    with fake.serving():
        yield fake


@pytest.fixture
def client(fake: FakeHetzner) -> Client:
    return Client(TOKEN, fake.url, poll_interval=0.001)


def test_a_server_is_made_listed_page_by_page_by_its_labels_and_deleted(client: Client) -> None:
    made = [
        client.servers.create(
            f"bench-{number}",
            ServerType(name="ccx13"),
            Image(name="debian-12"),
            labels={"nightshift": "a" if number else "b"},
            location=Location(name="hel1"),
        )
        for number in range(60)
    ]
    made[-1].action.wait_until_finished()
    assert len(client.servers.get_all()) == 60
    assert len(client.servers.get_all(label_selector="nightshift==a")) == 59
    assert len(client.servers.get_all(label_selector="nightshift in (b, c), !night")) == 1
    server = client.servers.get_by_name("bench-59")
    assert server is not None and server.server_type is not None and server.location is not None
    assert (server.server_type.name, server.location.name) == ("ccx13", "hel1")
    server.delete().wait_until_finished()
    assert client.servers.get_by_name("bench-59") is None


def test_what_hangs_together_is_deleted_in_order(client: Client) -> None:
    wall = client.firewalls.create("wall", rules=[]).firewall
    group = client.placement_groups.create("group", "spread").placement_group
    volume = client.volumes.create(10, "volume", location=Location(name="fsn1"))
    server = client.servers.create(
        "bench",
        ServerType(name="ccx13"),
        Image(name="debian-12"),
        firewalls=[wall],
        placement_group=group,
    ).server
    volume.volume.attach(server)
    for each in (wall, group, volume.volume):
        with pytest.raises(APIException, match="in use"):
            each.delete()
    server.delete().wait_until_finished()
    for each in (wall, group, volume.volume):
        each.delete()
    assert not client.volumes.get_all() and not client.placement_groups.get_all()


def test_faults_are_met_once_each(fake: FakeHetzner, client: Client) -> None:
    fake.faults += [
        Fault(status=503, code="unavailable"),
        Fault(taken=True),
        Fault(fails="failed"),
    ]
    body = (ServerType(name="ccx13"), Image(name="debian-12"))
    with pytest.raises(APIException, match="unavailable"):
        client.servers.create("one", *body)
    with pytest.raises(requests.ConnectionError):
        client.servers.create("one", *body)
    assert fake.project.named("servers") == {"one"}
    with pytest.raises(ActionFailedException):
        client.servers.create("two", *body).action.wait_until_finished()


@pytest.mark.parametrize("labels", [{"expires": "2026-03-01T02:00"}, {"night": "-1"}, {"a b": ""}])
def test_labels_are_restricted(client: Client, labels: dict[str, str]) -> None:
    with pytest.raises(APIException, match="labels"):
        client.ssh_keys.create("key", "ssh-ed25519 AAAA", labels)


def test_it_runs_as_a_process() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.hetzner", "--port", "0"],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            url, token = process.stdout.readline().split()
            Client(token, url).ssh_keys.create("key", "ssh-ed25519 AAAA")
            state = requests.get(url.replace("/v1", "/_state"), timeout=60).json()
        finally:
            process.terminate()
    assert [each["name"] for each in state["ssh_keys"]] == ["key"]
