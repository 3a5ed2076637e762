"""The scripts in ``tools/`` that hold logic of their own: builds with Go, the rule for secrets."""

from __future__ import annotations

import random
import string
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GO = """#!/bin/sh
echo built >>"$BUILDS"
[ -z "$BROKEN" ] || { echo "go: no such module" >&2; exit 1; }
mkdir -p "$GOBIN"
printf '#!/bin/sh\\n' >"$GOBIN/versitygw"
chmod +x "$GOBIN/versitygw"
"""


class Tools:
    """``tools/go-tool`` with a cache of its own and a compiler that counts its builds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "cache" / "tools"
        self.builds = folder / "builds"
        self._bin = folder / "bin"
        self._bin.mkdir()
        (self._bin / "go").write_text(GO)
        (self._bin / "go").chmod(0o755)

    def ask(self, *words: str, go: bool = True, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the script."""
        path = f"{self._bin}:/usr/bin:/bin" if go else "/usr/bin:/bin"
        given = {"PATH": path, "NIGHTSHIFT_CACHE": str(self.folder.parent), "HOME": "/nowhere"}
        return subprocess.run(
            ["bash", ROOT / "tools/go-tool", *words],
            env={**given, "BUILDS": str(self.builds), **environ},
            capture_output=True,
            text=True,
            check=False,
        )

    def names(self) -> list[str]:
        """Return the programs in the cache, and what builds left there."""
        return sorted(each.name for each in self.folder.iterdir() if each.suffix != ".lock")


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


def test_a_program_is_built_once_and_replaces_its_old_version(tools: Tools) -> None:
    tools.folder.mkdir(parents=True)
    for name in ("versitygw-0.1.0", "act-0.1.0"):
        (tools.folder / name).touch()
    (tools.folder / ".build.versitygw.killed").mkdir()
    assert tools.ask("--find", "versitygw").returncode == 1
    first, second = tools.ask("versitygw"), tools.ask("versitygw", go=False)
    assert first.returncode == second.returncode == 0, first.stderr
    assert first.stdout == second.stdout == tools.ask("--find", "versitygw").stdout
    program = Path(first.stdout.strip())
    assert program.parent == tools.folder
    assert tools.names() == ["act-0.1.0", program.name]
    assert tools.builds.read_text() == "built\n"


def test_a_failed_build_is_one_line_and_leaves_nothing(tools: Tools) -> None:
    done = tools.ask("versitygw", BROKEN="1")
    assert done.returncode == 2
    assert done.stderr.endswith(" could not be built: go: no such module\n")
    assert tools.names() == []
    done = tools.ask("versitygw", go=False)
    assert done.returncode == 2
    assert (
        done.stderr == "go-tool: versitygw cannot be built: there is no Go compiler; install Go\n"
    )


@pytest.mark.parametrize("form", ['hcloud_token = "{}"', "SECRET_KEY: {}", "'api_key' => '{}';"])
def test_a_random_value_of_a_credential_is_found(tmp_path: Path, form: str) -> None:
    value = "".join(random.Random(form).choices(string.ascii_letters + string.digits, k=64))
    command = [
        *(str(Path(sys.executable).with_name("kingfisher")), "scan", "--quiet", "--redact"),
        *("--no-update-check", "--no-validate", "--load-builtins=false", "--no-rule-cache"),
        *("--rules-path", str(ROOT / "tools/secrets.yml"), str(tmp_path)),
    ]
    (tmp_path / "file").write_text(form.format("the-token-of-the-workflow") + "\n")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    (tmp_path / "file").write_text(form.format(value) + "\n")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 200, done.stdout + done.stderr
    assert value not in done.stdout
