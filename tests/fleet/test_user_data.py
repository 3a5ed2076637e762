"""The user data of a server: cloud-init can read it, and it lets nobody in."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.fleet.runners import Program
from pipeline.fleet.user_data import LIMIT, user_data
from pipeline.text.errors import UserError

PROGRAM = Program(url="https://github.example/runner.tar.gz", sha256="ab" * 32)
NASTY = "a'; touch /tmp/x; '\n$(id) `id` \"\\ #:{}"


def reported(
    machine_class: str = "ccx13", configurations: tuple[str, ...] = ("one", "two")
) -> dict[str, Any]:
    text = user_data(PROGRAM, machine_class, configurations, ["sysbench", "curl"])
    assert text.startswith("#cloud-config\n")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def files(reported: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {each["path"]: each for each in reported["write_files"]}


def test_a_configuration_for_each_job_that_root_alone_reads() -> None:
    written = files(reported())
    jobs = {path: each for path, each in written.items() if "/jobs/" in path}
    assert [each["content"] for each in jobs.values()] == ["one", "two"]
    assert {each["permissions"] for each in jobs.values()} == {"0600"}
    assert {each["owner"] for each in written.values()} == {"root:root"}


def test_nobody_gets_in_and_jobs_do_not_read_the_user_data() -> None:
    found = reported()
    assert found["disable_root"] is True and found["ssh_pwauth"] is False
    (user,) = found["users"]
    assert user["lock_passwd"] is True
    assert "sudo" not in user and "ssh_authorized_keys" not in user
    assert ["systemctl", "disable", "--now", "ssh.service", "ssh.socket"] in found["runcmd"]
    assert ["passwd", "--lock", "root"] in found["runcmd"]
    wall = files(found)["/etc/nftables.conf"]["content"]
    assert "hook input priority 0; policy drop;" in wall
    assert "meta skuid != 0 ip daddr 169.254.169.254 reject" in wall
    assert "udp dport 68 accept\n  }\n" in wall, "there are rules, or Terraform's template is seen"
    commands = [" ".join(each) for each in found["runcmd"]]
    assert any(each.startswith("systemctl mask --now apt-daily.timer") for each in commands)
    # The wall is up before the first job begins.
    assert commands.index("systemctl restart nftables.service") < commands.index(
        "systemctl start nightshift-runner.service"
    )


def test_nothing_in_it_is_taken_for_a_command(tmp_path: Path) -> None:
    found = reported(NASTY, (NASTY,))
    assert files(found)["/etc/nightshift/jobs/1"]["content"] == NASTY
    environment = tmp_path / "runner.env"
    environment.write_text(files(found)["/etc/nightshift/runner.env"]["content"])
    read = subprocess.run(
        ["bash", "-uc", '. "$0"; printf "%s|%s|%s" "$URL" "$SHA256" "$CLASS"', str(environment)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert read.stdout == f"{PROGRAM.url}|{PROGRAM.sha256}|{NASTY}"
    assert all(isinstance(command, list) for command in found["runcmd"])


def test_packages_are_asked_for_once() -> None:
    assert reported()["packages"] == ["ca-certificates", "curl", "nftables", "sysbench"]


def test_too_much_user_data_is_one_line() -> None:
    with pytest.raises(UserError, match="set fewer jobs"):
        user_data(PROGRAM, "ccx13", ["x" * LIMIT], [])
    # The largest that the setting allows, with configurations as GitHub makes them.
    user_data(PROGRAM, "ccx13", ["x" * 4400] * 6, ["sysbench"])


def test_the_script_is_clean() -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    script = files(reported())["/usr/local/sbin/nightshift-runner"]["content"]
    subprocess.run(
        ["shellcheck", "--exclude=SC1091", "--shell=bash", "-"], input=script, text=True, check=True
    )


def test_the_script_runs_each_configuration_once(tmp_path: Path) -> None:
    """The script itself, with stand-ins for what only a new server has."""
    script = files(reported())["/usr/local/sbin/nightshift-runner"]["content"]
    jobs, home, programs = tmp_path / "jobs", tmp_path / "home", tmp_path / "bin"
    for folder in (jobs, home, programs, tmp_path / "runner/bin"):
        folder.mkdir(parents=True)
    for number in (1, 2):
        (jobs / str(number)).write_text(f"config {number}")
    runner = tmp_path / "runner"
    for path, body in {
        runner / "run.sh": f'echo "$2 $(cat .env) $(ls {jobs})" >> {tmp_path}/ran; exit 1',
        runner / "bin/installdependencies.sh": "exit 0",
        programs
        / "curl": f'while [ "$1" != --output ]; do shift; done; tar -czf "$2" -C {runner} .',
        programs / "sha256sum": "cat > /dev/null",
        programs / "runuser": 'shift 3; "$@"',
        programs / "pkill": "exit 1",
        programs / "chown": "exit 0",
        programs / "install": 'mkdir -p "${@: -1}"',
    }.items():
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)
    environment = tmp_path / "runner.env"
    environment.write_text(files(reported())["/etc/nightshift/runner.env"]["content"])
    for old, new in {
        "/etc/nightshift/runner.env": environment,
        "/etc/nightshift/jobs": jobs,
        "/home/runner": home,
        "/var/lib/nightshift-runner.tar.gz": tmp_path / "archive",
    }.items():
        script = script.replace(old, str(new))
    subprocess.run(["bash", "-c", script], env={"PATH": f"{programs}:/usr/bin:/bin"}, check=True)
    # A job that fails does not keep the next from its turn, and none finds another's secret.
    assert (tmp_path / "ran").read_text().splitlines() == [
        "config 1 NIGHTSHIFT_MACHINE_CLASS=ccx13 2",
        "config 2 NIGHTSHIFT_MACHINE_CLASS=ccx13 ",
    ]
