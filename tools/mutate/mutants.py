"""The small changes of a module's source that its tests should detect."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

_COMPARISONS: dict[type[ast.cmpop], tuple[ast.cmpop, ...]] = {
    ast.Lt: (ast.LtE(), ast.GtE()),
    ast.LtE: (ast.Lt(), ast.Gt()),
    ast.Gt: (ast.GtE(), ast.LtE()),
    ast.GtE: (ast.Gt(), ast.Lt()),
    ast.Eq: (ast.NotEq(),),
    ast.NotEq: (ast.Eq(),),
    ast.In: (ast.NotIn(),),
    ast.NotIn: (ast.In(),),
    ast.Is: (ast.IsNot(),),
    ast.IsNot: (ast.Is(),),
}
"""The operators that replace a comparison: one that differs for equal values, and the opposite."""

_ARITHMETIC: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.Div(),
    ast.Div: ast.Mult(),
    ast.FloorDiv: ast.Mult(),
    ast.BitAnd: ast.BitOr(),
    ast.BitOr: ast.BitAnd(),
}

SHOWN = 40
"""Number of context characters shown around the difference in a long change."""

_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, order=True)
class Mutant:
    """One change of a file: a span of its bytes, and the text that replaces it."""

    path: str
    start: int
    stop: int
    text: str
    was: str

    def apply(self, source: str) -> str:
        """Return the changed source of the file."""
        raw = source.encode()
        return (raw[: self.start] + self.text.encode() + raw[self.stop :]).decode()

    def lines(self, source: str) -> tuple[int, str, str]:
        """Return the number of the first changed line, and the changed text before and after."""
        raw = source.encode()
        if b"\n" in raw[self.start : self.stop]:
            return raw.count(b"\n", 0, self.start) + 1, *_apart(f"({self.was})", self.text)
        first = raw.rfind(b"\n", 0, self.start) + 1
        last = raw.find(b"\n", self.stop)
        last = last if last >= 0 else len(raw)
        old = raw[first:last].decode()
        new = (raw[first : self.start] + self.text.encode() + raw[self.stop : last]).decode()
        return raw.count(b"\n", 0, first) + 1, " ".join(old.split()), " ".join(new.split())


def _apart(old: str, new: str) -> tuple[str, str]:
    """Return the differing parts of two texts, with some context."""
    shorter = min(len(old), len(new))
    same = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    left = range(1, shorter - same + 1)
    after = next((at - 1 for at in left if old[-at] != new[-at]), shorter - same)
    first = max(same - SHOWN, 0)
    return (
        old[first : len(old) - after + SHOWN],
        new[first : len(new) - after + SHOWN],
    )


def mutants_of(path: str, source: str, ties: bool = True) -> list[Mutant]:
    """Return every mutant of a file, in source order.

    Without ``ties``, mutants that differ from the code only for equal numbers are left out.
    """
    offsets = [0]
    for line in source.encode().splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))

    def place(line: int, column: int) -> int:
        return offsets[line - 1] + column

    return sorted(
        {
            Mutant(
                path,
                place(node.lineno, node.col_offset),
                place(node.end_lineno or node.lineno, node.end_col_offset or 0),
                text,
                ast.unparse(node),
            )
            for top in _walk(ast.parse(source))
            for node, text in _changes(top, ties)
        }
    )


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree, except annotations, decorators and formatted strings."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from _walk(child)


def _changes(node: ast.AST, ties: bool) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield the replaceable parts of a node, each with its replacement."""
    match node:
        case ast.Constant(value):
            for constant in _of_constant(value):
                yield node, repr(constant)
        case ast.If(test):
            # The opposite of a comparison and of `not` is among the changes of the test itself.
            if not isinstance(test, ast.Compare | ast.UnaryOp):
                yield test, f"not ({ast.unparse(test)})"
        case ast.FunctionDef(body=body, returns=ast.Constant(None)):
            statement = body[1] if ast.get_docstring(node) is not None else body[0]
            yield statement, "return"
        case ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield node, "pass"
        case ast.Expr(ast.Call()) | ast.Assign([ast.Attribute() | ast.Subscript()]):
            yield node, "pass"
        case ast.expr():
            for other in (*_of_operation(node, ties), *_of_collection(node)):
                yield node, f"({ast.unparse(other)})"


def _of_constant(value: object) -> Iterator[object]:
    """Yield the replacements of a constant; text is not changed."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, float):
        yield value * 2.0 if value else 1.0


def _of_operation(node: ast.expr, ties: bool) -> Iterator[ast.expr]:
    """Yield the operations that may replace one."""
    match node:
        case ast.Compare(left, operators, right):
            for at, operator in enumerate(operators):
                for comparison in _COMPARISONS[type(operator)][0 if ties else -1 :]:
                    changed = [*operators[:at], comparison, *operators[at + 1 :]]
                    yield ast.Compare(left, changed, right)
        case ast.BoolOp(junction, values):
            yield ast.BoolOp(ast.Or() if isinstance(junction, ast.And) else ast.And(), values)
            for kept in _without_one(values):
                yield ast.BoolOp(junction, kept) if len(kept) > 1 else kept[0]
        case ast.BinOp(left, sign, right) if type(sign) in _ARITHMETIC:
            yield ast.BinOp(left, _ARITHMETIC[type(sign)], right)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)


def _of_collection(node: ast.expr) -> Iterator[ast.expr]:
    """Yield collections without one element or condition, and calls with one difference."""
    match node:
        case ast.Set(elements):
            for kept in _without_one(elements):
                yield ast.Set(kept)
        case ast.Dict(keys, values):
            for pairs in _without_one(list(zip(keys, values, strict=True))):
                yield ast.Dict([key for key, _ in pairs], [value for _, value in pairs])
        case ast.Call(function, arguments, keywords):
            if isinstance(function, ast.Name) and function.id in _FUNCTIONS:
                yield ast.Call(ast.Name(_FUNCTIONS[function.id]), arguments, keywords)
            for named in _without_one(keywords):
                yield ast.Call(function, arguments, named)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            for generators in _unfiltered(node.generators):
                changed = copy(node)
                changed.generators = generators
                yield changed


def _unfiltered(generators: Sequence[ast.comprehension]) -> Iterator[list[ast.comprehension]]:
    """Yield the generators of a comprehension, each time without one condition."""
    for at, each in enumerate(generators):
        for kept in _without_one(each.ifs):
            changed = ast.comprehension(each.target, each.iter, kept, each.is_async)
            yield [*generators[:at], changed, *generators[at + 1 :]]


def _without_one(values: Sequence[T]) -> Iterator[list[T]]:
    for at in range(len(values)):
        yield [*values[:at], *values[at + 1 :]]
