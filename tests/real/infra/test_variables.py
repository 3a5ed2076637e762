"""Every variable says what it is for, and what is refused for it has a test that is refused.

Read by where the lines stand: test_valid holds that the formatter put them there.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.real.infra.terraform import INFRA, roots

_BLOCK = re.compile(r'^(variable|output) "(\w+)" \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_CONDITION = re.compile(r"^  validation \{", re.MULTILINE)
_RUN = re.compile(r'^run "\w+" \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_REFUSED = re.compile(r"^  expect_failures = \[(.*?)\]", re.MULTILINE | re.DOTALL)
_HOLDS = re.compile(r"^  (assert|module) \{", re.MULTILINE)


def _texts(folder: Path, pattern: str) -> str:
    return "".join(each.read_text() for each in sorted(folder.glob(pattern)))


def conditions(text: str) -> Counter[str]:
    """Count what is asked of each variable."""
    return Counter(
        {
            name: len(_CONDITION.findall(body))
            for kind, name, body in _BLOCK.findall(text)
            if kind == "variable"
        }
    )


def refusals(text: str) -> Counter[str]:
    """Count the runs that expect each variable, and nothing else, to be refused."""
    expected = (_REFUSED.search(body) for body in _RUN.findall(text))
    names = (re.findall(r"var\.(\w+)", each[1]) for each in expected if each is not None)
    return Counter(each[0] for each in names if len(each) == 1)


@pytest.mark.parametrize("root", roots())
def test_for_each_condition_of_a_variable_a_run_breaks_it(root: str) -> None:
    asked = conditions(_texts(INFRA / root, "*.tf"))
    tried = refusals(_texts(INFRA / root, "tests/*.tftest.hcl"))
    assert asked, "no variables were read"
    assert not asked - tried


@pytest.mark.parametrize("root", roots())
def test_every_variable_and_output_is_described_and_typed(root: str) -> None:
    for kind, name, body in _BLOCK.findall(_texts(INFRA / root, "*.tf")):
        assert re.search(r'^  description += ".+"', body, re.MULTILINE), name
        assert kind == "output" or re.search(r"^  type += ", body, re.MULTILINE), name


@pytest.mark.parametrize("root", roots())
def test_a_run_asserts_something_unless_it_prepares_another(root: str) -> None:
    for body in _RUN.findall(_texts(INFRA / root, "tests/*.tftest.hcl")):
        assert _HOLDS.search(body) or _REFUSED.search(body), body


def test_what_nobody_tries_is_seen() -> None:
    module = """\
variable "count" {
  type = number

  validation {
    condition = var.count > 0
  }
  validation {
    condition = var.count < 9
  }
}
variable "name" {
  type = string
}
"""
    once = 'run "refuses" {\n  command = plan\n\n  expect_failures = [var.count]\n}\n'
    both = 'run "two" {\n  expect_failures = [\n    var.count,\n    var.name,\n  ]\n}\n'
    assert conditions(module) == Counter(count=2, name=0)
    assert conditions(module) - refusals(once) == Counter(count=1)
    assert conditions(module) - refusals(once + both) == Counter(count=1)
    assert not conditions(module) - refusals(once + once)
