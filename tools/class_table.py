"""``python -m tools.class_table``: the tables of shared names in the glossary, from the code.

A class or a module is in its table when two rooms (packages of pipeline and changepoint) besides
the command line name it. ``--check`` writes nothing and fails where the glossary differs, or where
two modules, those of dashboards included, have classes with one name.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tools.constants import as_cell

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/reference/glossary.md"

_TABLES = re.compile(r"(?s)<!-- classes -->\n.*<!-- end -->")


class SharedName(NamedTuple):
    """A name that several rooms use: a class or a module, the room it is in, its purpose."""

    name: str
    room: str
    purpose: str


def room_of(module: str) -> str:
    """Return the room of a module, given by its path: its package below the top one."""
    top, *below = module.split("/")
    return f"{top}/{below[0]}" if len(below) > 1 else top


def shared_classes(sources: Mapping[str, str]) -> Iterator[SharedName]:
    """Yield the shared classes of modules (path -> source code), by name."""
    found: dict[str, SharedName] = {}
    rooms: dict[str, set[str]] = defaultdict(set)
    for module, source in sources.items():
        room = room_of(module)
        # Statements of the module alone: walking whole trees takes most of a second longer.
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name] = SharedName(node.name, room, _purpose(node))
                rooms[node.name].add(room)
    for room, module, name in _imports(sources):
        if name in found and _is_of(module, found[name].room):
            rooms[name].add(room)
    for name in sorted(found):
        if len(rooms[name]) > 1:
            yield found[name]


def repeated_classes(sources: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for every class name that several modules have (path -> source code)."""
    places: dict[str, list[str]] = defaultdict(list)
    for module, source in sources.items():
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    for name, modules in sorted(places.items()):
        if len(modules) > 1:
            yield f"{name} is a class of {', '.join(modules)}; rename all but one"


def shared_modules(sources: Mapping[str, str]) -> Iterator[SharedName]:
    """Yield the shared modules, by name, which is the path below the room.

    Packages are left out: the architecture page describes the rooms.
    """
    found = {
        path.removesuffix(".py").replace("/", "."): SharedName(
            path.removesuffix(".py").removeprefix(f"{room_of(path)}/"),
            room_of(path),
            _purpose(ast.parse(source)),
        )
        for path, source in sources.items()
        if not path.endswith("__init__.py")
    }
    rooms = {module: {each.room} for module, each in found.items()}
    for room, module, name in _imports(sources):
        for imported in (module, f"{module}.{name}"):
            if imported in rooms:
                rooms[imported].add(room)
    yield from sorted(each for module, each in found.items() if len(rooms[module]) > 1)


def table(kind: str, names: Iterable[SharedName]) -> str:
    """Return names of a kind as a markdown table."""
    rows = [f"| `{each.name}` | `{each.room}` | {as_cell(each.purpose)} |" for each in names]
    return "\n".join([f"| {kind} | room | purpose |", "| --- | --- | --- |", *rows])


def _imports(sources: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield (importing room, module, name) of every import but those of the command line."""
    for path, source in sources.items():
        room = room_of(path)
        if room == "pipeline/cli":
            continue
        for node in ast.parse(source).body:
            if isinstance(node, ast.ImportFrom):
                yield from ((room, node.module or "", alias.name) for alias in node.names)


def _purpose(node: ast.ClassDef | ast.Module) -> str:
    """Return the first paragraph of a docstring."""
    return " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())


def _is_of(module: str, room: str) -> bool:
    """Return whether a module is in a room, or the interface of changepoint, which re-exports."""
    return f"{module}.".startswith(f"{room.replace('/', '.')}.") or (
        module == "changepoint" and room.startswith("changepoint/")
    )


def _sources(*folders: str) -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


def main() -> int:
    """Write the table, or with ``--check`` compare it; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if the file would change"
    )
    checks = parser.parse_args().check
    sources = _sources("changepoint", "pipeline")
    page = PAGE.read_text()
    classes, modules = shared_classes(sources), shared_modules(sources)
    made = f"{table('class', classes)}\n\n{table('module', modules)}"
    wanted = _TABLES.sub(lambda _: f"<!-- classes -->\n\n{made}\n\n<!-- end -->", page)
    repeated = list(repeated_classes(sources | _sources("dashboards"))) if checks else []
    if repeated:
        print("\n".join(repeated), file=sys.stderr)
        return 1
    if checks and wanted != page:
        print(
            f"run: python -m tools.class_table ({PAGE.relative_to(ROOT)} is old)", file=sys.stderr
        )
        return 1
    if not checks:
        PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
