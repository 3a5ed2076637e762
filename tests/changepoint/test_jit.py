"""The cache of machine code: when it is used, where it lies, and when it goes."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from changepoint import jit

ASK = """
import changepoint
from changepoint.detection.segment import counted_phi
print(changepoint.__file__, counted_phi(100.0, 250.0, 50, 0), sum(counted_phi.stats[2].values()))
"""


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package that nothing has been compiled of."""
    return shutil.copytree(
        jit.PACKAGE, tmp_path / "changepoint", ignore=shutil.ignore_patterns("__pycache__")
    )


def asked(package: Path) -> subprocess.Popen[str]:
    """A process that asks the copy for the autocorrelation that counts: compiled, with limits."""
    environment = {name: value for name, value in os.environ.items() if "NUMBA" not in name}
    return subprocess.Popen(
        [sys.executable, "-P", "-c", ASK],
        env=environment | {"PYTHONPATH": str(package.parent)},
        stdout=subprocess.PIPE,
        text=True,
    )


def answer(process: subprocess.Popen[str]) -> list[str]:
    """Where the package lay, what the kernel said, how often it had to be compiled."""
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return output.split()


def test_a_constant_of_another_module_takes_effect_at_the_next_call(copied: Path) -> None:
    where = str(copied / "__init__.py")
    # Two at once, both with nothing to find.
    both = [asked(copied), asked(copied)]
    assert [answer(process)[:2] for process in both] == [[where, "0.9"]] * 2
    # What they wrote is found.
    assert answer(asked(copied)) == [where, "0.9", "0"]
    scan = copied / "detection" / "scan.py"
    before = scan.read_text()
    after = before.replace("MAX_PHI = 0.9\n", "MAX_PHI = 0.8\n")
    assert after != before
    scan.write_text(after)
    assert answer(asked(copied)) == [where, "0.8", "1"]


def test_every_module_of_the_package_is_part_of_the_digest(copied: Path) -> None:
    digests = {jit.digest_of(copied), jit.digest_of(jit.PACKAGE)}
    assert len(digests) == 1
    files = [*copied.rglob("*.py")]
    assert {copied / "detection" / "scan.py", copied / "evaluate" / "calibrate.py"} < set(files)
    for file in files:
        file.write_text(file.read_text() + "\n")
        digests.add(jit.digest_of(copied))
    (copied / "new.py").touch()
    digests.add(jit.digest_of(copied))
    assert len(digests) == 1 + len(files) + 1


def kernel(folder: Path) -> Any:
    """A function compiled in a module of its own in ``folder``."""
    file = folder / "own.py"
    file.write_text("def double(x):\n    return 2 * x\n")
    spec = importlib.util.spec_from_file_location("own", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return jit.compiled(module.double)


@pytest.fixture
def no_folder_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", "")


@pytest.mark.usefixtures("no_folder_given")
def test_folders_of_other_contents_go_when_nobody_has_started_with_them(tmp_path: Path) -> None:
    place = tmp_path / "__pycache__"
    now = time.time()
    for name, age in {"kernels-old": 2, "kernels-young": 0.5, "else": 2}.items():
        (place / name).mkdir(parents=True)
        (place / name / "double.nbi").touch()
        os.utime(place / name, (now - age * jit.KEPT,) * 2)
    mine = place / f"kernels-{jit.digest_of(jit.PACKAGE)}"
    mine.mkdir()
    os.utime(mine, (now - 2 * jit.KEPT,) * 2)
    double = kernel(tmp_path)
    folders = {entry.name for entry in place.iterdir() if entry.is_dir()}
    assert folders == {"kernels-young", "else", mine.name}
    # Its own stays, and is young again.
    assert mine.stat().st_mtime >= now - 1.0
    # Deleted while a process runs that needs it: written again.
    shutil.rmtree(mine)
    assert double(2) == 4
    assert list(mine.glob("*.nbc"))


@pytest.mark.usefixtures("no_folder_given")
def test_the_users_cache_is_used_where_the_package_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A file where the folder should be: not even root can write below it.
    (tmp_path / "__pycache__").touch()
    home = tmp_path / "home"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    assert kernel(tmp_path)(2) == 4
    (code,) = home.rglob("*.nbc")
    assert code.parent.name == f"kernels-{jit.digest_of(jit.PACKAGE)}"
    # Nor below that: the process compiles for itself.
    shutil.rmtree(home)
    home.touch()
    assert kernel(tmp_path)(2) == 4


@pytest.mark.usefixtures("no_folder_given")
def test_machine_code_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    double = kernel(tmp_path)
    (folder,) = (tmp_path / "__pycache__").glob("kernels-*")
    # A folder where the file should be.
    (folder / f"own.double-1.py{sys.version_info[0]}{sys.version_info[1]}.1.nbc").mkdir()
    assert double(2) == 4
    assert list(folder.glob("*.nbi"))
