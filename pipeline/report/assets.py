"""Our own styles and scripts, as the pages hold them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

_SHARED = "pipeline.report"


def styles(package: str, name: str) -> str:
    """Return a style sheet of a package, behind the colours that all pages share."""
    return _text(_SHARED, "palette.css") + _text(package, name)


def program(package: str, names: Iterable[str]) -> str:
    """Return the scripts of a package as one, behind what all pages share.

    It is one function, so that no name of ours meets one of a library's.
    """
    own = "\n".join(_text(package, f"scripts/{name}.js") for name in names)
    return f'"use strict";\n(() => {{\n{_text(_SHARED, "scripts/elements.js")}\n{own}\n}})();'


def _text(package: str, name: str) -> str:
    return (files(package) / name).read_text(encoding="utf-8")
