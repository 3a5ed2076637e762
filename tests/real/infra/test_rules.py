"""Each rule sees what breaks it, and says nothing of what does not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.real.infra.rules import broken

OFFICE = "203.0.113.0/24"
TOLD = '#cloud-config\n{"users": [{"name": "runner", "lock_passwd": true}], "ssh_pwauth": false}\n'

Cloud = dict[str, list[dict[str, Any]]]


def good() -> Cloud:
    """Return a hub, a bench, and what protects them."""
    wall = {
        "name": "wall",
        "labels": {"nightshift": "nightshift"},
        "rules": [{"direction": "in", "protocol": "tcp", "port": "22", "source_ips": [OFFICE]}],
        "applied_to": [{"type": "server", "server": {"id": 1}}],
    }
    hub = {
        "name": "hub",
        "labels": {"nightshift": "nightshift", "role": "hub"},
        "public_net": {"firewalls": [{"id": 7}]},
        "private_net": [{"network": 8}],
        "backup_window": "22-02",
        "protection": {"delete": True, "rebuild": True},
    }
    bench = {
        **copy.deepcopy(hub),
        "name": "bench",
        "labels": {
            "nightshift": "nightshift",
            "role": "bench",
            "night": "2026-03-01",
            "class": "ccx33",
            "expires": "20260301T220000Z",
        },
        "private_net": [],
        "backup_window": None,
    }
    volume = {
        "name": "data",
        "labels": {"nightshift": "nightshift"},
        "protection": {"delete": True},
    }
    return {"firewalls": [wall], "servers": [hub, bench], "volumes": [volume]}


def test_nothing_is_said_of_what_is_as_it_should_be() -> None:
    assert not broken(good(), {"hub": TOLD}, allowed=[OFFICE])


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda it: it["firewalls"][0]["rules"][0].update(port="80"), "lets in tcp 80"),
        (lambda it: it["firewalls"][0]["rules"][0].update(protocol="udp"), "lets in udp 22"),
        (lambda it: _from(it, "0.0.0.0/0"), "is open to 0.0.0.0/0"),
        (lambda it: _from(it, "::/0"), "is open to ::/0"),
        (lambda it: _from(it, "10.0.0.0/8"), "is open to 10.0.0.0/8"),
        (lambda it: _from(it, "198.51.100.1/32"), "198.51.100.1/32, which nobody asked for"),
        (lambda it: it["firewalls"][0].update(applied_to=[]), "protects nothing"),
        (lambda it: it["servers"][0]["public_net"].update(firewalls=[]), "hub has no firewall"),
        (lambda it: it["servers"][0].update(backup_window=None), "hub has no backups"),
        (lambda it: it["servers"][0]["protection"].update(rebuild=False), "hub is not protected"),
        (lambda it: it["servers"][0]["labels"].update(role="spare"), "has the role spare"),
        (lambda it: it["servers"][1]["labels"].pop("role"), "has the role None"),
        (lambda it: it["servers"][1]["labels"].pop("expires"), "outlives every reaper"),
        (lambda it: it["servers"][1]["labels"].update(expires="never"), "outlives every reaper"),
        (lambda it: it["servers"][1]["labels"].pop("class"), "no server of a night"),
        (lambda it: it["servers"][1]["labels"].pop("nightshift"), "no server of a night"),
        (lambda it: it["servers"][1].update(private_net=[{}]), "a bench in a private network"),
        (lambda it: it["volumes"][0]["protection"].update(delete=False), "data is not protected"),
        (lambda it: it["volumes"][0].update(labels={}), "volumes data lacks the label"),
    ],
)
def test_a_violation_is_reported(spoil: Callable[[Cloud], Any], complaint: str) -> None:
    cloud = good()
    spoil(cloud)
    assert complaint in " ".join(broken(cloud, {}, allowed=[OFFICE]))


@pytest.mark.parametrize(
    "secret",
    [
        "ghp_" + "a1B2" * 9,
        "github_pat_" + "a1B2" * 9,
        "-----BEGIN OPENSSH PRIVATE" + " KEY-----",
        "AKIA" + "ABCD" * 4,
        "TOKEN=" + "Ab1" * 21 + "x",
        "passwd: hunter2",
        '"password":"hunter2"',
    ],
)
def test_what_looks_like_a_secret_is_reported_but_not_shown(secret: str) -> None:
    (reported,) = broken({**good(), "volumes": []}, {"hub": f"{TOLD}{secret}\n"}, allowed=[OFFICE])
    assert "hub is told what looks like a secret" in reported and secret not in reported


def test_what_only_looks_a_little_like_one_is_not() -> None:
    for text in ("ab" * 32, "lock_passwd: true", '["passwd","--lock","root"]', "Sk9C0aaa"):
        assert not broken(good(), {"hub": text}, allowed=[OFFICE])


def _from(cloud: Cloud, source: str) -> None:
    cloud["firewalls"][0]["rules"][0]["source_ips"] = [source]
