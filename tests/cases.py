"""A table of cases as one test, which reports every case that fails.

A case of ``pytest.mark.parametrize`` is collected by each worker and has fixtures of its own. That
is wanted of a server and too much for a row of a table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

Test = Callable[..., None]


def every_case(
    names: str | Sequence[str],
    cases: Iterable[Any],
    ids: Iterable[str] | Callable[[Any], object] | None = None,
) -> Callable[[Test], Test]:
    """Return a decorator that calls a test with every case, then fails with all that failed.

    The arguments are those of ``pytest.mark.parametrize``. The cases share the fixtures of the
    test; ``tmp_path`` alone is a folder of each.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    table = [_named(case, arguments) for case in cases]
    assert table, "a table without cases shows nothing"
    labels = [label for label, _ in table]
    if callable(ids):
        labels = [str(ids(next(iter(values.values())))) for _, values in table]
    elif ids is not None:
        labels = list(ids)

    def decorate(test: Test) -> Test:
        @wraps(test)
        def run(**fixtures: Any) -> None:
            failures: list[BaseException] = []
            for number, (label, (_, values)) in enumerate(zip(labels, table, strict=True)):
                own = dict(fixtures)
                if isinstance(folder := own.get("tmp_path"), Path):
                    own["tmp_path"] = folder / str(number)
                    own["tmp_path"].mkdir()
                try:
                    test(**own, **values)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"case {label}")
                    failures.append(error)
            if failures:
                failed = f"{len(failures)} of {len(table)} cases failed"
                raise BaseExceptionGroup(failed, failures)

        signature = inspect.signature(test)
        kept = [each for name, each in signature.parameters.items() if name not in arguments]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return decorate


def _named(case: Any, arguments: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
    """Return how a case is called, and its values by the names of the arguments."""
    label = None
    if hasattr(case, "marks"):  # Of pytest.param.
        assert not case.marks, "a row of a table cannot be skipped"
        label, values = case.id, case.values
    else:
        values = (case,) if len(arguments) == 1 else tuple(case)
    return label or repr(values)[:200], dict(zip(arguments, values, strict=True))
