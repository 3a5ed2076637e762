"""The script that installs Terraform or OpenTofu on a hub, with its provider, by their SHA-256."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.real.infra.terraform import INFRA, Terraform

_CURL = """\
#!/bin/bash
while [ "$1" != --output ]; do shift; done
cp "$ARCHIVES/${3##*/}" "$2"
"""


class Hub:
    """A hub as a folder, and the archives that it downloads."""

    def __init__(self, program: Terraform, folder: Path) -> None:
        self.program, self.folder = program, folder
        self.place, self.programs = folder / "lib", folder / "bin"
        self.archives, stand_ins = folder / "archives", folder / "stand-ins"
        for each in (self.programs, self.archives, stand_ins):
            each.mkdir(parents=True)
        (stand_ins / "curl").write_text(_CURL)
        (stand_ins / "curl").chmod(0o755)
        self.environ = {"PATH": f"{stand_ins}:/usr/bin:/bin", "ARCHIVES": str(self.archives)}
        name = "tofu" if Path(program.program).name.startswith("tofu") else "terraform"
        (provider,) = program.mirror.rglob("terraform-provider-hcloud_v*")
        self._zip("program", Path(program.program), name)
        self._zip("provider", provider, provider.name)

    def _zip(self, archive: str, file: Path, name: str) -> None:
        with zipfile.ZipFile(self.archives / f"{archive}.zip", "w") as made:
            made.write(file, name)
            made.writestr("LICENSE", "free")

    def install(self, **sums: str) -> subprocess.CompletedProcess[str]:
        """Run the script, with what it reads and writes in the folder."""
        lines = ""
        for name in ("program", "provider"):
            content = (self.archives / f"{name}.zip").read_bytes()
            found = sums.get(name, hashlib.sha256(content).hexdigest())
            lines += f"{name.upper()}='https://github.example/{name}.zip'\n"
            lines += f"{name.upper()}_SHA256='{found}'\n"
        (self.folder / "terraform.env").write_text(lines)
        script = (INFRA / "files/nightshift-terraform").read_text()
        for old, new in {
            "/etc/nightshift": self.folder,
            "/usr/local/lib/nightshift": self.place,
            "/usr/local/bin": self.programs,
        }.items():
            script = script.replace(old, str(new))
        return subprocess.run(
            ["bash", "-c", script], env=self.environ, capture_output=True, text=True, check=False
        )


@pytest.fixture
def hub(program: Terraform, tmp_path: Path) -> Hub:
    return Hub(program, tmp_path / "hub")


def test_what_it_installs_creates_the_servers_of_a_night(hub: Hub) -> None:
    for _ in range(2):
        done = hub.install()
        assert done.returncode == 0, done.stderr
    (installed,) = hub.programs.iterdir()
    # With this provider alone, and without a registry.
    shutil.rmtree(hub.program.mirror)
    bare = replace(hub.program, program=str(installed), mirror=hub.place / "providers")
    bare.init("environments/night", "-backend=false")
    bare.must("environments/night", "validate")


@pytest.mark.parametrize("archive", ["program", "provider"])
def test_an_archive_with_another_sum_is_refused(hub: Hub, archive: str) -> None:
    done = hub.install(**{archive: "0" * 64})
    assert done.returncode != 0 and not list(hub.programs.iterdir()) and not hub.place.exists()
