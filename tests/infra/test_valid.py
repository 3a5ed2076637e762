"""Both programs and tflint accept every module and environment, whose own tests pass."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from tests.go_tools import program
from tests.infra.terraform import INFRA, ROOT, Terraform, roots

every_root = pytest.mark.parametrize("root", roots())


def test_it_is_written_as_they_format_it(shared: Terraform) -> None:
    shared.must(".", "fmt", "-check", "-diff", "-recursive", "-no-color")


@every_root
def test_tflint_finds_nothing(root: str) -> None:
    options = ("--no-color", f"--chdir={INFRA / root}", f"--config={ROOT}/tools/tflint.hcl")
    command = [str(program("tflint")), *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@every_root
def test_it_is_valid(shared: Terraform, ready: Callable[[str], None], root: str) -> None:
    ready(root)
    shared.must(root, "validate", "-no-color")


@every_root
def test_its_own_tests_pass(shared: Terraform, ready: Callable[[str], None], root: str) -> None:
    assert list((INFRA / root).glob("tests/*.tftest.hcl")), "it has none"
    ready(root)
    assert "Success!" in shared.must(root, "test", "-no-color")
