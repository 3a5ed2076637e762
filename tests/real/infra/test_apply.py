"""With the real provider and the fake of Hetzner Cloud: made, changed, broken off, taken down."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.hetzner import FakeHetzner, Fault
from tests.fakes.hetzner.server import TOKEN
from tests.real.infra.applied import Applied
from tests.real.infra.given import ADMINS, LAPTOP, night, team
from tests.real.infra.terraform import ROOT, Terraform


def test_a_trial_comes_stays_the_same_changes_and_goes(
    program: Terraform, cloud: FakeHetzner
) -> None:
    trial = Applied(program, "bench", cloud)
    trial.apply(LAPTOP)
    (server,) = cloud.project.things["servers"].values()
    assert server["status"] == "running" and server["server_type"]["name"] == "ccx13"
    assert program.outputs(trial.root)["address"] == server["public_net"]["ipv4"]["ip"]
    assert not trial.broken(allowed=ADMINS)
    assert trial.settled(LAPTOP)
    wider = {**LAPTOP, "admin_cidrs": ["198.51.100.0/24"]}
    assert not trial.settled(wider)
    trial.apply(wider)
    assert not trial.broken(allowed=["198.51.100.0/24"]) and trial.settled(wider)
    trial.destroy(wider)
    assert not trial.names


def test_a_hub_on_trial_comes_and_keeps_its_volume(program: Terraform, cloud: FakeHetzner) -> None:
    trial = Applied(program, "hub", cloud)
    trial.apply(LAPTOP)
    assert not trial.broken(allowed=ADMINS, backups=False) and trial.settled(LAPTOP)
    before = trial.names
    code, text = trial.tried("destroy", LAPTOP, "-auto-approve")
    assert code == 1 and "prevent_destroy" in text
    assert trial.names == before


def test_a_team_changes_and_its_data_outlives_everything(
    program: Terraform, cloud: FakeHetzner
) -> None:
    small = Applied(program, "small-team", cloud)
    small.apply(team())
    assert small.names["servers"] == ["nightshift-hub"] and not small.broken(allowed=ADMINS)
    assert small.settled(team())
    hub = _named(cloud, "servers", "nightshift-hub")["id"]
    more = team(benches={"ccx33": 3}, per_night="9 EUR")
    small.apply(more)
    assert small.settled(more) and not small.broken(allowed=ADMINS)
    assert list(cloud.project.things["servers"]) == [hub], "the hub was made anew"

    over = team(protected=False)
    code, text = small.tried("destroy", over, "-auto-approve")
    assert code == 1 and "prevent_destroy" in text
    small.apply(over)
    volume = "module.hub[0].hcloud_volume.data"
    program.must(small.root, "state", "rm", volume, **small.environ)
    small.destroy(over)
    assert small.names == {"volumes": ["nightshift-hub"]}
    assert _named(cloud, "volumes", "nightshift-hub")["server"] is None


def test_a_night_comes_stays_the_same_and_goes(program: Terraform, cloud: FakeHetzner) -> None:
    benches = Applied(program, "night", cloud)
    benches.apply(night())
    assert len(benches.names["servers"]) == 2 and not benches.broken()
    assert benches.settled(night())
    kept = [each["id"] for each in _benches(cloud)]
    benches.apply(night(3))
    assert benches.settled(night(3)) and not benches.broken()
    assert set(kept) < set(cloud.project.things["servers"]), "a server was made anew"
    # All of a night is in its state.
    benches.destroy({})
    assert not benches.names


def test_what_a_module_refuses_its_environment_refuses(
    program: Terraform, cloud: FakeHetzner
) -> None:
    refused: dict[str, tuple[Any, str]] = {
        "admin_cidrs": (["0.0.0.0/0"], "never open to the world"),
        "nightshift": ({"repository": "https://github.example/a", "revision": "main"}, "a commit"),
        "night": ("2026/03/01", "No label"),
    }
    for name, (value, expected) in refused.items():
        root, given = ("night", night) if name == "night" else ("small-team", team)
        code, text = Applied(program, root, cloud).tried("plan", given(**{name: value}))
        assert code == 1 and expected in " ".join(text.split()), text


def test_what_is_protected_is_not_deleted_for_a_slip(
    program: Terraform, cloud: FakeHetzner
) -> None:
    small = Applied(program, "small-team", cloud)
    small.apply(team())
    program.must(small.root, "state", "rm", "module.hub[0].hcloud_volume.data", **small.environ)
    code, _ = small.tried("destroy", team(), "-auto-approve")
    assert code == 1 and small.names["servers"] == ["nightshift-hub"]
    assert small.names["volumes"] == ["nightshift-hub"]


def test_nothing_secret_is_in_the_state(program: Terraform, cloud: FakeHetzner) -> None:
    benches = Applied(program, "night", cloud)
    given = night()
    said = benches.apply(given)
    reported = "".join(cloud.project.user_data.values())
    for (configuration,) in given["runner_configurations"]["ccx33"]:
        assert configuration in reported
        assert configuration not in benches.state and configuration not in said
    assert TOKEN not in benches.state + said + reported
    assert json.loads(benches.state)["resources"]


@pytest.mark.parametrize(
    ("root", "given", "kinds"),
    [
        ("small-team", team(), ("ssh_keys", "firewalls", "networks", "volumes", "servers")),
        ("night", night(3), ("firewalls", "placement_groups", "servers")),
    ],
    ids=["small-team", "night"],
)
def test_an_apply_that_the_cloud_breaks_off_is_applied_again(
    program: Terraform, cloud: FakeHetzner, root: str, given: dict[str, Any], kinds: tuple[str, ...]
) -> None:
    applied = Applied(program, root, cloud)
    for kind in kinds:
        cloud.faults.append(Fault("POST", f"/{kind}", 503, "service_error"))
    cloud.faults.append(Fault("POST", "/servers", 412, "resource_unavailable"))
    if "volumes" in kinds:
        cloud.faults.append(Fault("POST", r"/volumes/\d+/actions/attach", 500, "server_error"))
    broken_off = 0
    while any(fault.times for fault in cloud.faults):
        code, text = applied.tried("apply", given, "-auto-approve")
        assert code == 1 and "injected" in text
        broken_off += 1
    assert broken_off > 1
    applied.apply(given)
    assert applied.settled(given) and not applied.broken(allowed=ADMINS)
    assert len(applied.names["servers"]) == (3 if root == "night" else 1)


def test_a_killed_apply_leaves_only_what_the_reaper_finds(
    program: Terraform, cloud: FakeHetzner, tmp_path: Path
) -> None:
    trial = Applied(program, "bench", cloud)
    cloud.project.polls = 10**9
    program.give(trial.root, LAPTOP)
    begin = ("apply", "-auto-approve", "-input=false")
    with program.begun(trial.root, *begin, **trial.environ):
        deadline = time.monotonic() + 300
        while not cloud.project.things["servers"]:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    cloud.project.polls = 1
    assert not trial.broken(allowed=ADMINS)
    # Its state does not know all of it, so that a second one is refused for its name.
    code, text = trial.tried("apply", LAPTOP, "-auto-approve")
    assert code == 1 and "uniqueness_error" in text
    outlive(cloud)
    reap(cloud, tmp_path)
    assert not trial.names
    trial.apply(LAPTOP)
    assert trial.settled(LAPTOP)
    trial.destroy(LAPTOP)
    assert not trial.names


def test_the_reaper_takes_the_benches_of_terraform_and_never_its_hub(
    program: Terraform, cloud: FakeHetzner, tmp_path: Path
) -> None:
    small = Applied(program, "small-team", cloud)
    small.apply(team())
    Applied(program, "night", cloud).apply(night())
    reap(cloud, tmp_path)
    assert len(small.names["servers"]) == 3, "they were still alive"
    outlive(cloud)
    reap(cloud, tmp_path)
    assert small.names == {
        "servers": ["nightshift-hub"],
        "ssh_keys": ["nightshift-hub-me"],
        "volumes": ["nightshift-hub"],
        "firewalls": ["nightshift-hub"],
        "networks": ["nightshift"],
    }


def outlive(cloud: FakeHetzner) -> None:
    """Let the time to live of all that is of a night be over."""
    for things in cloud.project.things.values():
        for each in things.values():
            if each["labels"]["role"] == "bench":
                each["labels"]["expires"] = "20260301T000000Z"


def reap(cloud: FakeHetzner, folder: Path) -> None:
    """Run ``nightshift fleet reap`` of the same pipeline."""
    (folder / "nightshift.toml").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "fleet", "reap"],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "HCLOUD_TOKEN": TOKEN,
            "HCLOUD_ENDPOINT": cloud.url,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def _named(cloud: FakeHetzner, kind: str, name: str) -> Any:
    (found,) = (each for each in cloud.project.things[kind].values() if each["name"] == name)
    return found


def _benches(cloud: FakeHetzner) -> list[Any]:
    servers = cloud.project.things["servers"].values()
    return [each for each in servers if each["labels"].get("role") == "bench"]
