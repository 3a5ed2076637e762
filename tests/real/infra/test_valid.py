"""Both programs take every module and environment, and their own tests of them pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.real.infra.terraform import INFRA, Terraform, roots

every_root = pytest.mark.parametrize("root", roots())


def test_it_is_written_as_they_format_it(shared: Terraform) -> None:
    shared.must(".", "fmt", "-check", "-diff", "-recursive", "-no-color")


@every_root
def test_it_is_valid(shared: Terraform, ready: Callable[[str], None], root: str) -> None:
    ready(root)
    shared.must(root, "validate", "-no-color")


@every_root
def test_its_own_tests_pass(shared: Terraform, ready: Callable[[str], None], root: str) -> None:
    assert list((INFRA / root).glob("tests/*.tftest.hcl")), "it has none"
    ready(root)
    assert "Success!" in shared.must(root, "test", "-no-color")
