"""The two streams that the verbs write to: results, and progress with warnings."""

from __future__ import annotations

from rich.console import Console

# Without emoji: they are written :100:, as is the line of a file.
out = Console(highlight=False, soft_wrap=True, emoji=False)
"""Results, on standard output."""

err = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
"""Progress and warnings, on standard error."""


def screen() -> Console:
    """Return where progress is shown.

    On a terminal that shows the results too, one console must draw both, or a table would be
    written across the bar.
    """
    return out if out.is_terminal else err


def warn(text: str) -> None:
    """Print one line on standard error."""
    err.print(f"nightshift: {text}", style="yellow", markup=False)
