"""Adapters are known by the names that they give themselves, and imported when asked for."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from pipeline.model.registry import AdapterRegistry
from pipeline.sources import KINDS
from pipeline.targets import TARGETS, find_target
from pipeline.workloads import FAMILIES, find_family


def test_a_value_is_made_once_and_others_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one_adapter.py").write_text("class Adapter:\n    pass\n")
    (tmp_path / "broken_adapter.py").write_text("raise ValueError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry: AdapterRegistry[object] = AdapterRegistry(
        {"one": "one_adapter:Adapter", "broken": "broken_adapter:Adapter"}, lambda cls: cls()
    )
    assert list(registry) == ["one", "broken"]
    assert len(registry) == 2
    assert "broken" in registry
    assert registry["one"] is registry["one"]
    with pytest.raises(ValueError, match="imported"):
        registry["broken"]
    assert registry.get("other") is None
    assert "other" not in registry


def test_adapters_have_the_names_that_they_are_found_by() -> None:
    assert {name: target.name for name, target in TARGETS.items()} == {n: n for n in TARGETS}
    assert {name: family.name for name, family in FAMILIES.items()} == {n: n for n in FAMILIES}
    assert all(callable(maker) for maker in KINDS.values())


def test_every_package_of_adapters_is_in_its_table() -> None:
    """A target or workload that the table lacks could not be used."""
    for package, table in (("targets", TARGETS), ("workloads", FAMILIES)):
        folder = Path(import_module(f"pipeline.{package}").__file__ or "").parent
        packages = {each.parent.name for each in folder.glob("*/__init__.py")} - {"base"}
        assert packages == {name.replace("-", "_") for name in table}


def test_unknown_names_say_what_was_meant() -> None:
    with pytest.raises(KeyError, match="there is no target 'postgre'; did you mean postgres"):
        find_target("postgre")
    with pytest.raises(KeyError, match="there is no workload family 'sysbnch'; did you mean sysb"):
        find_family("sysbnch")


def test_one_target_loads_no_driver_of_another() -> None:
    script = (
        "import sys; from pipeline.targets import find_target; find_target('sqlite')\n"
        "print({'psycopg', 'pymysql', 'pipeline.targets.mysql'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"
