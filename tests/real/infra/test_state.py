"""The state is in a bucket of a real S3 server, and one at a time changes it."""

from __future__ import annotations

import time

from tests.fakes.hetzner import FakeHetzner
from tests.fakes.hetzner.server import TOKEN
from tests.real.infra.applied import sized
from tests.real.infra.given import LAPTOP
from tests.real.infra.terraform import Terraform
from tests.s3 import REGION, S3

APPLY = ("apply", "-auto-approve", "-input=false", "-no-color", "-lock-timeout=0s")


def test_a_second_apply_is_refused_while_one_runs_and_finds_its_state_after(
    program: Terraform, cloud: FakeHetzner, s3: S3
) -> None:
    root = sized(program, "bench")
    bucket = s3.bucket("state")
    environ = {"HCLOUD_TOKEN": TOKEN, "HCLOUD_ENDPOINT": cloud.url, **s3.environ}
    settings = program.infra / root / "backend.tfbackend"
    settings.write_text(
        f'bucket = "state"\nregion = "{REGION}"\nuse_path_style = true\n'
        f'endpoints = {{ s3 = "{s3.url}" }}\n'
    )
    program.init(root, "-backend-config=backend.tfbackend", **environ)
    program.give(root, LAPTOP)

    cloud.project.polls = 10**9
    with program.begun(root, *APPLY, **environ) as first:
        deadline = time.monotonic() + 300
        while not cloud.project.things["servers"]:
            assert first.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        (lock,) = bucket.rglob("*.tflock")
        asked = len(cloud.asked)
        second = program.run(root, *APPLY, **environ)
        assert second.code == 1 and "state lock" in second.text
        assert not any(each.startswith("POST") for each in cloud.asked[asked:])
        with cloud.lock:
            cloud.project.polls = 1
            cloud.project.settle()
        said, _ = first.communicate(timeout=300)
        assert first.returncode == 0, said
    assert not lock.exists()

    plan = program.run(root, "plan", "-detailed-exitcode", "-input=false", **environ)
    assert plan.code == 0, plan.text
    assert not list((program.infra / root).glob("terraform.tfstate*")), "a state is kept here"
    program.must(root, "destroy", "-auto-approve", "-input=false", **environ)
    assert not any(cloud.project.things.values())
