"""Print results as JSON on standard output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from pipeline.cli.console import out

if TYPE_CHECKING:
    from pipeline.model import Frozen


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output; infinite numbers become strings."""
    text = to_json(value, indent=1, inf_nan_mode="strings", fallback=str)
    out.print(text.decode(), markup=False)


def print_matrix(jobs: Sequence[Frozen]) -> None:
    """Print jobs in one line as a matrix for GitHub Actions."""
    text = to_json({"include": [job.model_dump(mode="json") for job in jobs]})
    out.print(text.decode(), markup=False)
