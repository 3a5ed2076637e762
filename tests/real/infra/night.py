"""The script of the jobs provision and teardown, with Terraform, without ``nightshift`` itself.

The process of the test answers what the script asks ``nightshift``, over a socket: verbs start at
once, and the clock is the test's.
"""

from __future__ import annotations

import json
import shlex
import shutil
import socketserver
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from tests.fakes.hetzner import FakeHetzner
from tests.fakes.hetzner.server import TOKEN
from tests.real.infra.terraform import ROOT, Terraform, process_group
from tests.s3 import REGION, S3

SCRIPT = ".github/actions/servers/servers"
_BUCKET = "states"

QUICK = 'provider "hcloud" {\n  poll_interval = "10ms"\n}\n'
"""The fake has done things when it is asked."""

_CLIENT = """\
#!/bin/bash
exec 3<>"/dev/tcp/127.0.0.1/$NIGHTSHIFT_STAND_IN"
printf '%q ' "$@" >&3
echo >&3
read -r code <&3 && exit "$code"
"""

Verb = Callable[[list[str]], int]
"""Does what the words of a command line say, and returns its exit code."""


class _Asked(socketserver.StreamRequestHandler):
    """One command line."""

    def handle(self) -> None:
        words = shlex.split(self.rfile.readline().decode())
        code = self.server.verb(words)  # type: ignore[attr-defined]
        if code >= 0:
            self.wfile.write(f"{code}\n".encode())


class Nights:
    """Nights of one hub: a copy of what the script needs, the bucket of the states, and Hetzner."""

    def __init__(self, program: Terraform, s3: S3, folder: Path) -> None:
        self.program, self.s3, self.folder = program, s3, folder
        self.bucket = s3.folder / _BUCKET
        if not self.bucket.exists():
            s3.bucket(_BUCKET)
        hub = program.infra.parent
        (hub / SCRIPT).parent.mkdir(parents=True)
        shutil.copy(ROOT / SCRIPT, hub / SCRIPT)
        self.script = hub / SCRIPT
        (program.infra / "environments/night/quick_override.tf").write_text(QUICK)
        self.programs = folder / "programs"
        self.programs.mkdir(parents=True)
        (self.programs / Path(program.program).name.partition("-")[0]).symlink_to(program.program)
        (self.programs / "nightshift").write_text(_CLIENT)
        (self.programs / "nightshift").chmod(0o755)
        self.temp = folder / "temp"
        self.temp.mkdir()
        self.settings = folder / "nights.tfbackend"
        self.settings.write_text(
            f'bucket = "{_BUCKET}"\nregion = "{REGION}"\nuse_path_style = true\n'
            f'endpoints = {{ s3 = "{s3.url}" }}\n'
        )

    @contextmanager
    def begun(
        self, job: str, night: str, cloud: FakeHetzner, verb: Verb
    ) -> Iterator[subprocess.Popen[str]]:
        """Run a job's script, in a process group that ends with the block."""
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Asked) as hub:
            hub.daemon_threads = True
            hub.verb = verb  # type: ignore[attr-defined]
            threading.Thread(target=hub.serve_forever, args=(0.01,), daemon=True).start()
            environ = {
                **self.program.environ,
                **self.s3.environ,
                "PATH": f"{self.programs}:/usr/bin:/bin",
                "CONFIG": "nightshift.toml",
                "RUNNER_TEMP": str(self.temp),
                "HCLOUD_TOKEN": TOKEN,
                "HCLOUD_ENDPOINT": cloud.url,
                "NIGHTSHIFT_STATE": str(self.settings),
                "NIGHTSHIFT_STAND_IN": str(hub.server_address[1]),
                "TF_CLI_ARGS_init": f"-plugin-dir={self.program.mirror}",
            }
            try:
                with process_group(["bash", str(self.script), job, night], environ) as process:
                    yield process
            finally:
                hub.shutdown()

    def place(self, night: str) -> Path:
        """Return the file of a night's state in the bucket."""
        return self.bucket / "nightshift/nights" / f"{night}.tfstate"

    def lock(self, night: str) -> None:
        """Hold the lock of a night's state, as a run does that died."""
        info = {
            "ID": str(uuid4()),
            "Operation": "OperationTypeApply",
            "Info": "",
            "Who": "runner@dead",
            "Version": "1.11.4",
            "Created": "2026-03-01T01:17:00Z",
            "Path": "states",
        }
        self.place(night).with_suffix(".tfstate.tflock").write_text(json.dumps(info))

    def state(self, night: str) -> str:
        """Return the state of a night as text, empty without one."""
        return self.place(night).read_text() if self.place(night).exists() else ""

    def locked(self, night: str) -> bool:
        """Whether somebody holds the lock of a night's state."""
        return self.place(night).with_suffix(".tfstate.tflock").exists()
