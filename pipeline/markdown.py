"""Text from elsewhere inside markdown."""

from __future__ import annotations


def cell(text: str) -> str:
    """Return ``text`` so that it stays in one cell of a table, whatever it holds."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
