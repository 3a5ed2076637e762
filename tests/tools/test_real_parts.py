"""Which parts of the lane test-real are run for a change, and what is recorded of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tools.real_parts import (
    REAL,
    ROOT,
    Outcome,
    Part,
    all_inputs,
    decide,
    digests,
    read_parts,
    read_record,
    run_part,
    write_record,
)

GUARDED = (
    ".github",
    "infra",
    *(
        f"pipeline/targets/{each.name}"
        for each in sorted(
            each
            for each in (ROOT / "pipeline/targets").iterdir()
            if (each / "__init__.py").exists()
        )
    ),
)
"""What nobody changes without its real part having run on the change."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with one part, which depends on infra/ and on a helper module of tests/."""
    files = {
        "requirements-dev.lock": "",
        "infra/main.tf": "one",
        "pipeline/other.py": "",
        "tests/conftest.py": "",
        "tests/skips.py": "",
        "tests/helper.py": "from tests import deeper\n",
        "tests/deeper.py": "",
        "tests/real/infra/part.toml": 'shows = "x"\ninputs = ["infra"]\n',
        "tests/real/infra/test_apply.py": "import tests.helper\n\ndef test_it(): pass\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    return tmp_path


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def due(root: Path, commit: str = "") -> str:
    """Return why the only part is to be run; empty if it is not."""
    (part,) = read_parts(root)
    decision = decide(part, digests(all_inputs(part, root), root), read_record(root, commit))
    return decision.why if decision.run else ""


def passed(root: Path, **changes: object) -> None:
    """Record a run of the only part."""
    (part,) = read_parts(root)
    outcome = Outcome(part, code=0, seconds=1.0, passed=3)
    for name, value in changes.items():
        setattr(outcome, name, value)
    write_record(root, [outcome], {part.name: digests(all_inputs(part, root), root)})


@pytest.mark.parametrize("folder", GUARDED)
def test_every_guarded_folder_is_an_input_of_a_part(folder: str) -> None:
    inputs = [each for part in read_parts(ROOT) for each in part.inputs]
    assert any(Path(folder).is_relative_to(each) for each in inputs)


def test_every_part_here_is_declared_and_its_inputs_exist() -> None:
    parts = read_parts(ROOT)
    assert parts and all(part.declared and part.shows and part.inputs for part in parts)


def test_a_part_is_due_until_it_was_green_with_these_inputs(checkout: Path) -> None:
    assert due(checkout) == "no green run is recorded"
    passed(checkout)
    assert due(checkout) == ""


@pytest.mark.parametrize(
    "name",
    [
        "infra/main.tf",
        "infra/new.tf",
        "tests/real/infra/test_apply.py",
        "tests/real/infra/part.toml",
        "tests/helper.py",
        "tests/deeper.py",
        "tests/conftest.py",
        "requirements-dev.lock",
    ],
)
def test_a_change_of_any_input_makes_it_due_again(checkout: Path, name: str) -> None:
    passed(checkout)
    path = checkout / name
    more = "changed = 1" if path.suffix == ".py" else "# changed"
    path.write_text((path.read_text() if path.exists() else "") + f"\n{more}\n")
    assert due(checkout).startswith("changed since it was green on ")


def test_a_comment_or_a_docstring_makes_nothing_due(checkout: Path) -> None:
    passed(checkout)
    helper = checkout / "tests/helper.py"
    helper.write_text('"""Helps."""\n\n' + helper.read_text() + "# and no more\n")
    assert due(checkout) == ""
    helper.write_text(helper.read_text() + 'LIMIT = 1\n"""The limit."""\n')
    passed(checkout)
    helper.write_text(helper.read_text().replace("The limit", "The highest number"))
    assert due(checkout) == ""


def test_a_lost_input_makes_it_due_again_and_the_reason_names_it(checkout: Path) -> None:
    passed(checkout)
    (checkout / "tests/real/infra/test_apply.py").write_text("def test_it(): pass\n")
    (checkout / "tests/helper.py").unlink()
    assert "tests/helper.py" in due(checkout)


def test_other_files_do_not_make_it_due(checkout: Path) -> None:
    passed(checkout)
    (checkout / "pipeline/other.py").write_text("changed = True\n")
    assert due(checkout) == ""


@pytest.mark.parametrize(
    "changes", [{"code": 1}, {"missing": [("go is not here")]}, {"passed": 0}], ids=str
)
def test_what_was_not_green_is_forgotten(checkout: Path, changes: dict[str, object]) -> None:
    passed(checkout)
    passed(checkout, **changes)
    assert due(checkout) == "no green run is recorded"


def test_with_a_base_only_its_record_is_believed(checkout: Path) -> None:
    passed(checkout)
    git(checkout, "add", "--all")
    git(checkout, "commit", "--quiet", "--message", "base")
    assert due(checkout, "HEAD") == ""
    (checkout / "infra/main.tf").write_text("two")
    passed(checkout)
    assert due(checkout) == ""
    assert "infra" in due(checkout, "HEAD")
    assert due(checkout, "no-such-commit") == "no green run is recorded"


def test_a_part_that_declares_nothing_is_always_due_and_never_recorded(checkout: Path) -> None:
    (checkout / "tests/real/infra/part.toml").unlink()
    passed(checkout)
    assert due(checkout) == "it declares no inputs (no part.toml)"
    assert json.loads((checkout / REAL / "green.json").read_text()) == {}


@pytest.mark.parametrize(
    ("declaration", "said"),
    [
        ('shows = "x"\ninputs = ["infra", "misspelt"]\n', "these inputs do not exist: misspelt"),
        ('shows = "x"\ninputs = ["infra"]\nslow = true\n', "unknown settings slow"),
    ],
)
def test_a_wrong_declaration_is_an_error(checkout: Path, declaration: str, said: str) -> None:
    (checkout / "tests/real/infra/part.toml").write_text(declaration)
    with pytest.raises(ValueError, match=said):
        read_parts(checkout)


def test_a_run_counts_what_passed_and_names_what_was_missing(tmp_path: Path) -> None:
    folder = tmp_path / REAL / "some"
    folder.mkdir(parents=True)
    (folder / "test_some.py").write_text(
        "import pytest\n"
        "def test_passes(): pass\n"
        "def test_fact(): pytest.skip('this kernel has no PSI')\n"
        "def test_missing(): pytest.skip('act is not installed')\n"
    )
    outcome = run_part(Part("some"), tmp_path, ())
    assert (outcome.code, outcome.passed, outcome.green) == (0, 1, False)
    assert [each for each in outcome.missing if "act is not installed" in each]
    assert len(outcome.missing) == 1
    (folder / "test_some.py").write_text("def test_fails(): assert False\n")
    assert run_part(Part("some"), tmp_path, ()).code == 1
