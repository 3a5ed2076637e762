"""The script of a bench, which runs one runner after the other: in ``infra/files``."""

from __future__ import annotations

import subprocess
from pathlib import Path

FILES = Path(__file__).parents[2] / "infra" / "files"


def test_the_script_runs_each_configuration_once(tmp_path: Path) -> None:
    """The script itself, with stand-ins for what only a new server has."""
    script = (FILES / "nightshift-runner").read_text()
    jobs, programs = tmp_path / "jobs", tmp_path / "bin"
    for folder in (jobs, programs, tmp_path / "runner/bin"):
        folder.mkdir(parents=True)
    for number in (1, 2):
        (jobs / str(number)).write_text(f"config {number}")
    runner = tmp_path / "runner"
    for path, body in {
        runner / "run.sh": f'echo "$2 $(cat .env) $(ls {jobs})" >> {tmp_path}/ran; exit 1',
        programs
        / "nightshift-job": f'echo "$1" >> {tmp_path}/jobs-run; cd "$2"; shift 2; exec "$@"',
        runner / "bin/installdependencies.sh": "exit 0",
        programs
        / "curl": f'while [ "$1" != --output ]; do shift; done; tar -czf "$2" -C {runner} .',
        programs / "sha256sum": "cat > /dev/null",
    }.items():
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)
    environment = tmp_path / "runner.env"
    environment.write_text(
        "URL='https://github.example/runner.tar.gz'\nSHA256='ab'\nCLASS='ccx13'\n"
    )
    for old, new in {
        "/etc/nightshift/runner.env": environment,
        "/etc/nightshift/jobs": jobs,
        "/opt/nightshift-runner": tmp_path / "program",
        "/var/lib/nightshift-runner.tar.gz": tmp_path / "archive",
    }.items():
        script = script.replace(old, str(new))
    subprocess.run(["bash", "-c", script], env={"PATH": f"{programs}:/usr/bin:/bin"}, check=True)
    # A job that fails does not keep the next from its turn, and none finds another's secret.
    assert (tmp_path / "ran").read_text().splitlines() == [
        "config 1 NIGHTSHIFT_MACHINE_CLASS=ccx13 2",
        "config 2 NIGHTSHIFT_MACHINE_CLASS=ccx13 ",
    ]
    assert (tmp_path / "jobs-run").read_text().split() == ["job-1", "job-2"]
