from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.machine.account import Account, find_account
from pipeline.measure.workspace import Workspace
from pipeline.model import Build, Provenance
from pipeline.text.errors import UserError

ME = Account(name="me", uid=os.geteuid(), gid=os.getegid(), switch=False)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "cache", ME)


_HOLDER = """
import sys
from pathlib import Path
from pipeline.measure.workspace import Workspace
from pipeline.machine.account import Account

with Workspace(Path(sys.argv[1]), Account(name="me", uid=0, gid=0, switch=False)).held():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_night_is_refused_by_one_line_with_the_process(
    workspace: Workspace, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", _HOLDER, str(tmp_path / "cache")]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        expected = rf"^another nightshift \(process {holder.pid}\) is measuring on this machine; .*"
        other = Workspace(tmp_path / "other cache", ME)
        with pytest.raises(UserError, match=expected) as caught, other.held():
            pytest.fail("two measure on one machine")
        assert "\n" not in str(caught.value)
        holder.kill()
        holder.wait()
    # The lease of a killed process is nobody's.
    with workspace.held():
        pass


def test_what_a_killed_night_left_is_removed(workspace: Workspace, tmp_path: Path) -> None:
    left = tmp_path / "cache/runs/postgres-17.11-abc-r1"
    (left / "data").mkdir(parents=True)
    (left / "data/file").write_text("x")
    with workspace.held():
        assert not left.exists()


def test_a_folder_is_private_and_gone_afterwards(workspace: Workspace, tmp_path: Path) -> None:
    with workspace.held(), workspace.folder("run") as folder:
        assert folder == tmp_path / "cache/runs/run"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "file").write_text("x")
    assert not folder.exists()


def test_a_folder_is_gone_after_a_failure_too(workspace: Workspace) -> None:
    kept: list[Path] = []

    def fail() -> None:
        with workspace.folder("run") as folder:
            kept.append(folder)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not kept[0].exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers as another user")
def test_a_folder_belongs_to_the_account_of_the_servers(server_folder: Path) -> None:
    account = find_account()
    workspace = Workspace(server_folder, account)
    with workspace.held(), workspace.folder("run") as folder:
        assert (folder.stat().st_uid, folder.stat().st_gid) == (account.uid, account.gid)


def test_a_cache_that_the_servers_cannot_enter_is_refused(tmp_path: Path) -> None:
    barred = tmp_path / "barred"
    barred.mkdir(mode=0o700)
    tmp_path.chmod(0o755)
    other = Account(name="nightshift", uid=1, gid=1, switch=True)
    with pytest.raises(UserError) as caught, Workspace(barred / "cache", other).held():
        pytest.fail("held a workspace that cannot be entered")
    message = str(caught.value)
    assert "the user nightshift, who cannot enter" in message
    assert "set paths.cache" in message
    assert "\n" not in message


@pytest.mark.parametrize("missing", ["setpriv", "taskset"])
def test_a_missing_tool_is_named_with_its_package(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in {"setpriv", "taskset"} - {missing}:
        found = shutil.which(tool)
        assert found is not None
        (tools / tool).symlink_to(found)
    workspace.check_tools()
    monkeypatch.setenv("PATH", str(tools))
    with pytest.raises(UserError, match=f"{missing} is not installed; install .* util-linux"):
        workspace.check_tools()


def test_a_template_is_made_once(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    class Target:
        def template(
            self, build: Build, folder: Path, account: Account, options: tuple[str, ...]
        ) -> None:
            made.append(folder)
            folder.mkdir(parents=True)

    monkeypatch.setattr("pipeline.measure.workspace.find_target", lambda name: Target())
    provenance = Provenance(source="x", locator="", sha256="", options="official")
    build = Build(
        target="postgres", version="17.11", options="official", hash="h", provenance=provenance
    )
    folder = workspace.template(build)
    assert workspace.template(build) == folder == tmp_path / "cache/templates/postgres/h"
    assert made == [folder]
    other = workspace.template(build, ("--innodb_undo_tablespaces=32",))
    assert other.parent == folder.parent
    assert made == [folder, other]
