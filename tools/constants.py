"""``python -m tools.constants``: the tables of docs/internals/constants.md, from the code.

The page has a section for each module of changepoint that has numeric constants. What breaks when
one of them moves is written by hand; the table below it is written from the code: each constant's
name, value and docstring. ``--check`` writes nothing and fails where the page differs.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/internals/constants.md"

_TABLE = re.compile(r"(?s)<!-- constants of (\S+) -->\n.*?<!-- end -->")

_NUMERIC_CALLS = frozenset({"array", "frozenset", "log", "range", "sqrt"})
"""Functions whose result is still a number, or a table of numbers."""

_SHOWN = 9
"""Numbers of a table that are shown; a longer one is shown as their count and a digest."""


class Constant(NamedTuple):
    """A numeric constant of a module: names that are assigned together, the value, the reason."""

    names: tuple[str, ...]
    value: str
    reason: str


def constants_of(source: str) -> Iterator[Constant]:
    """Yield the numeric constants of a module, in their order."""
    body = ast.parse(source).body
    for statement, following in zip(body, [*body[1:], None], strict=True):
        match statement:
            case ast.Assign(targets=[target], value=value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                pass
            case _:
                continue
        elements = target.elts if isinstance(target, ast.Tuple) else [target]
        names = tuple(each.id for each in elements if isinstance(each, ast.Name))
        if names and all(name.isupper() for name in names) and _is_numeric(value):
            yield Constant(names, _shown(value), _docstring(following))


def as_cell(docstring: str) -> str:
    """Return a docstring as the text of a cell of a markdown table."""
    text = re.sub(r":\w+:`([^`]+)`", r"`\1`", " ".join(docstring.split()))
    return text.replace("``", "`").replace("|", "&#124;")


def modules() -> list[Path]:
    """Return the modules of changepoint that have numeric constants."""
    paths = sorted((ROOT / "changepoint").rglob("*.py"))
    return [path for path in paths if any(True for _ in constants_of(path.read_text()))]


def table(path: Path) -> str:
    """Return the constants of a module as a markdown table."""
    rows = [
        f"| {', '.join(f'`{name}`' for name in each.names)} | `{each.value}` | {each.reason} |"
        for each in constants_of(path.read_text())
    ]
    return "\n".join(["| name | value | reason |", "| --- | --- | --- |", *rows])


def filled(page: str) -> str:
    """Return the page with every table as the code has it.

    Raises ValueError for a module without a table, a table without a module, or a constant
    without a reason.
    """
    with_constants = {path.relative_to(ROOT).as_posix(): path for path in modules()}
    listed = _TABLE.findall(page)
    if listed != sorted({*with_constants}):
        differing = sorted({*listed} ^ {*with_constants}) or ["their order"]
        raise ValueError(
            "each module with constants needs one table, in sorted order; these differ: "
            f"{differing}"
        )
    for name, path in with_constants.items():
        for each in constants_of(path.read_text()):
            if not each.reason:
                raise ValueError(
                    f"{name}: {', '.join(each.names)} needs a docstring that gives the "
                    "reason of its value"
                )
    return _TABLE.sub(
        lambda found: (
            f"<!-- constants of {found[1]} -->\n\n{table(with_constants[found[1]])}\n\n<!-- end -->"
        ),
        page,
    )


def main() -> int:
    """Write the page, or with ``--check`` compare it; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if the file would change"
    )
    checks = parser.parse_args().check
    page = PAGE.read_text()
    try:
        wanted = filled(page)
    except ValueError as error:
        print(f"{PAGE.relative_to(ROOT)}: {error}", file=sys.stderr)
        return 1
    if checks and wanted != page:
        print(f"run: python -m tools.constants ({PAGE.relative_to(ROOT)} is old)", file=sys.stderr)
        return 1
    if not checks:
        PAGE.write_text(wanted)
    return 0


def _is_numeric(value: ast.expr) -> bool:
    """Return whether an expression is made of numbers, and of names of other constants."""
    numbers = 0
    for node in ast.walk(value):
        match node:
            case ast.Constant(value=bool() | str() | bytes() | None):
                return False
            case ast.Constant():
                numbers += 1
            case ast.Call(func=function):
                name = function.attr if isinstance(function, ast.Attribute) else ""
                name = function.id if isinstance(function, ast.Name) else name
                if name not in _NUMERIC_CALLS:
                    return False
            case ast.Lambda() | ast.ListComp() | ast.Dict():
                return False
            case _:
                pass
    return numbers > 0


def _shown(value: ast.expr) -> str:
    text = ast.unparse(value)
    numbers = sum(isinstance(node, ast.Constant) for node in ast.walk(value))
    if numbers <= _SHOWN:
        return text
    return f"{numbers} numbers, SHA-256 {hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _docstring(following: ast.stmt | None) -> str:
    match following:
        case ast.Expr(value=ast.Constant(value=str() as text)):
            return as_cell(text)
        case _:
            return ""


if __name__ == "__main__":
    sys.exit(main())
