"""A job on a bench leaves nothing to the next: attacks on the real script, in namespaces."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

FILES = Path(__file__).parents[2] / "infra" / "files"

CANARY = "the-canary-of-the-second-job"

WATCH = """
# Looks for the secret wherever it can, for as long as it lives.
while :; do
  for place in /proc/[0-9]*/environ /proc/[0-9]*/cmdline $JOBS/* $HOMES/*/actions/secret; do
    grep -qsa "the-canary-of-the-second-job" "$place" && echo "$place" >> $LOOT/found
  done
  sleep 0.02
done
"""
"""What an adversary would run beside the next job."""

ATTACKS = {
    "a process of a session of its own": "setsid bash $LOOT/watch > /dev/null 2>&1 &",
    "a process that ignores signals": (
        "trap '' HUP INT TERM; setsid bash $LOOT/watch > /dev/null 2>&1 &"
    ),
    "a process that keeps forking": (
        "hop() { (sleep 0.01; hop) & }; "
        "(for _ in 1 2 3; do hop; done; setsid bash $LOOT/watch) > /dev/null 2>&1 &"
    ),
    "a process in namespaces of its own": (
        "unshare --user --map-root-user --pid --fork --mount --ipc "
        "bash $LOOT/watch > /dev/null 2>&1 &"
    ),
    "a program of the runner": (
        "for file in run.sh bin/installdependencies.sh; do "
        "echo 'cat $JOBS/* >> $LOOT/found' > $file; chmod +x $file; done; "
        "rm -rf ../actions/bin; ln -s $LOOT ../actions/bin"
    ),
    "the next configuration": "cat $JOBS/* > $LOOT/found",
    "the script's memory and files": (
        "cat /proc/$PPID/environ /proc/$PPID/fd/* /proc/1/environ > $LOOT/found; "
        "kill -KILL $PPID $(pgrep -f nightshift-job)"
    ),
    "its cgroup": (
        "for group in $(find $CGROUPS -name cgroup.procs); do echo $$ > $group; done; "
        "setsid bash $LOOT/watch > /dev/null 2>&1 &"
    ),
    "files for whoever comes": (
        "cp /bin/sh $TEMPORARY/sh; chmod 6755 $TEMPORARY/sh; mkdir -p $TEMPORARY/deep/er; "
        "ln -s $JOBS/2 $TEMPORARY/link; echo 'bash $LOOT/watch &' > $HOME/.profile; "
        "mkfifo $TEMPORARY/pipe; chmod 700 $TEMPORARY/deep; echo x > $HOMES/.profile"
    ),
    "programs of root": (
        "for become in 'sudo -n' 'su -c' 'setpriv --reuid=0'; do "
        "$become cat $JOBS/2 >> $LOOT/found; done; crontab -l; "
        "echo '* * * * * root cat $JOBS/2 > $LOOT/found' > /etc/cron.d/job"
    ),
    "memory that processes share": (
        "python3 -c 'from multiprocessing.shared_memory import SharedMemory as shared; "
        'shared("left", True, 9)\'; '
        "ipcmk --shmem 4096; ipcmk --queue"
    ),
}
"""What the first job does, with the folders of the bench in its variables."""


@pytest.fixture
def bench(server_folder: Path) -> Bench:
    if os.geteuid() != 0:
        pytest.skip("only root starts jobs as other users")
    for needed in ("unshare", "setpriv", "useradd", "findmnt"):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")
    return Bench(server_folder)


class Bench:
    """A bench with two jobs as folders, in which the scripts run in namespaces."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jobs, self.homes, self.loot = (folder / name for name in ("jobs", "homes", "loot"))
        self.temporary, self.cgroups = folder / "temporary", folder / "cgroups"
        self.etc = folder / "etc"
        runner, programs = folder / "runner/bin", folder / "programs"
        for each in (self.jobs, self.homes, self.loot, self.temporary, runner, programs):
            each.mkdir(parents=True)
        self.cgroups.mkdir()
        self.temporary.chmod(0o1777)
        # Evidence: files of root, so that they outlive the jobs that write into them.
        for name in ("uid", "second", "found", "left", "shared", "alive"):
            (self.loot / name).touch()
            (self.loot / name).chmod(0o666)
        self.jobs.chmod(0o700)
        self._program(runner / "installdependencies.sh", "exit 0")
        self._program(
            programs / "curl",
            f'while [ "$1" != --output ]; do shift; done; tar -czf "$2" -C {folder / "runner"} .',
        )
        self._program(programs / "sha256sum", "cat > /dev/null")
        self.programs = programs
        (folder / "runner.env").write_text("URL='https://x/y'\nSHA256='ab'\nCLASS='c'\n")
        for script in ("nightshift-job", "nightshift-runner"):
            text = (FILES / script).read_text()
            for old, new in {
                "/etc/nightshift/runner.env": folder / "runner.env",
                "/etc/nightshift/jobs": self.jobs,
                "/opt/nightshift-runner": folder / "program",
                "/var/lib/nightshift-runner.tar.gz": folder / "archive",
                "home=/home": f"home={self.homes}",
                "cgroups=/sys/fs/cgroup": f"cgroups={self.cgroups}",
            }.items():
                text = text.replace(old, str(new))
            # The other file systems of this machine take no part.
            text = text.replace(
                "writable() {", f"writable() {{\n  printf '%s\\n' {folder} /dev/shm; return"
            )
            (programs / script).write_text(text)
            (programs / script).chmod(0o755)

    def _program(self, path: Path, body: str) -> None:
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)

    def run(self, attack: str) -> subprocess.CompletedProcess[str]:
        """Run both jobs: the attack, then one that has a secret in its files and its memory."""
        places = {
            "JOBS": self.jobs,
            "HOMES": self.homes,
            "LOOT": self.loot,
            "CGROUPS": self.cgroups,
            "TEMPORARY": self.temporary,
        }
        export = "".join(f"export {name}={place}\n" for name, place in places.items())
        (self.loot / "watch").write_text(f"{export}{WATCH}")
        (self.jobs / "1").write_text("attack")
        (self.jobs / "2").write_text(CANARY)
        self._program(self.folder / "attack", f"{export}id -u > $LOOT/uid\n{attack}\nsleep 0.1")
        self._program(
            self.folder / "runner/run.sh",
            f'if [ "$2" = attack ]; then bash {self.folder}/attack; exit 1; fi\n'
            f'echo "$2" > secret; chmod 644 secret; chmod -R a+rx "$HOME" 2> /dev/null\n'
            f"id -u > {self.loot}/second\n"
            f'SECRET="$2" sleep 0.5; ls -A {self.temporary} "$HOME" > {self.folder}/loot/left\n'
            f"find /dev/shm -user $(cat {self.loot}/uid) > {self.loot}/shared",
        )
        # Accounts are made in a copy of /etc, and cgroups in a mount that ends with the namespace.
        inside = (
            f"mount -t tmpfs none {self.folder}/mnt && cp -a /etc {self.folder}/mnt/etc && "
            f"mount --bind {self.folder}/mnt/etc /etc && mount -t cgroup2 none {self.cgroups} && "
            "nightshift-runner; status=$?; "
            f"ps -o stat=,args= -u $(cat {self.loot}/uid) | grep -v ^Z > {self.loot}/alive; "
            "exit $status"
        )
        (self.folder / "mnt").mkdir()
        return subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "bash", "-c", inside],
            env={"PATH": f"{self.programs}:/usr/sbin:/usr/bin:/sbin:/bin"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_job_leaves_nothing_to_the_next(bench: Bench, attack: str) -> None:
    done = bench.run(attack)
    if "cgroup2" in done.stderr:
        pytest.skip(f"the kernel does not let cgroups be mounted: {done.stderr}")
    assert done.returncode == 0, done.stderr
    uid = int((bench.loot / "uid").read_text())
    second = int((bench.loot / "second").read_text())
    assert 0 < uid < second, "the second job has the files of the first"
    # The second job had its turn, in a home of its own, and what it had to itself stayed with it.
    left = (bench.loot / "left").read_text()
    assert "actions" in left and ".profile" not in left
    found = (bench.loot / "found").read_text(errors="replace")
    assert CANARY not in found
    # Nothing of the first is there: no process, no file. What ended and is not reaped is a Z.
    assert (bench.loot / "alive").read_text() == ""
    assert (bench.loot / "shared").read_text() == ""
    assert list(bench.homes.iterdir()) == [] and list(bench.temporary.iterdir()) == []
