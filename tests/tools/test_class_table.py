"""The tables of shared names in the glossary: which classes and modules are in them."""

from __future__ import annotations

from tools.class_table import (
    SharedName,
    repeated_classes,
    room_of,
    shared_classes,
    shared_modules,
)

DEFINITION = '''
class Cell:
    """What the planner schedules:
    a build.

    More.
    """

class CellError(Exception):
    """A cell that is wrong."""

class _Hidden:
    """Of this module alone."""
'''
IMPORT = "from pipeline.model import Cell, CellError"
ERROR = SharedName("CellError", "pipeline/model", "A cell that is wrong.")
PURPOSE = SharedName("Cell", "pipeline/model", "What the planner schedules: a build.")


def test_a_class_that_another_room_imports_is_shared() -> None:
    sources = {"pipeline/model/cell.py": DEFINITION, "pipeline/measure/plan.py": IMPORT}
    assert list(shared_classes(sources)) == [PURPOSE, ERROR]


def test_the_command_line_and_the_own_room_do_not_count() -> None:
    sources = {
        "pipeline/model/cell.py": DEFINITION,
        "pipeline/model/registry.py": IMPORT,
        "pipeline/cli/plan.py": IMPORT,
    }
    assert list(shared_classes(sources)) == []


def test_a_class_of_the_same_name_from_elsewhere_does_not_count() -> None:
    sources = {
        "pipeline/model/cell.py": DEFINITION,
        "pipeline/report/grid.py": "from rich.table import Cell",
    }
    assert list(shared_classes(sources)) == []


def test_the_interface_of_changepoint_passes_on_classes_of_its_rooms() -> None:
    sources = {
        "changepoint/detection/cell.py": DEFINITION,
        "pipeline/regressions/shifts.py": "from changepoint import Cell",
    }
    assert [each.name for each in shared_classes(sources)] == ["Cell"]


def test_a_module_is_in_the_room_of_its_package() -> None:
    assert room_of("pipeline/notify/github/sink.py") == "pipeline/notify"
    assert room_of("changepoint/api.py") == "changepoint"


MODULE = '"""Write files whole.\n\nMore."""\n'


def test_a_module_that_another_room_imports_is_shared() -> None:
    sources = {
        "pipeline/files/atomic_write.py": MODULE,
        "pipeline/storage/bundle.py": "from pipeline.files.atomic_write import write_atomically",
        "pipeline/cli/run.py": "from pipeline.storage.bundle import read_bundle",
    }
    found = SharedName("atomic_write", "pipeline/files", "Write files whole.")
    assert list(shared_modules(sources)) == [found]


def test_a_module_that_is_imported_by_its_name_is_shared() -> None:
    sources = {
        "pipeline/storage/schema.py": MODULE,
        "pipeline/site/write.py": "from pipeline.storage import schema",
    }
    assert [each.name for each in shared_modules(sources)] == ["schema"]


def test_rooms_themselves_are_on_the_architecture_page() -> None:
    sources = {
        "pipeline/targets/__init__.py": MODULE,
        "pipeline/measure/plan.py": "from pipeline.targets import find_target",
    }
    assert list(shared_modules(sources)) == []


def test_two_classes_of_one_name_are_reported() -> None:
    sources = {
        "pipeline/notify/slack.py": "class Outcome: ...",
        "pipeline/transfer/push.py": "class Outcome: ...\nclass Pushed: ...",
    }
    (line,) = repeated_classes(sources)
    assert line == (
        "Outcome is a class of pipeline/notify/slack.py, pipeline/transfer/push.py; rename all but "
        "one"
    )
