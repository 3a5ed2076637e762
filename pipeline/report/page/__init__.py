"""The report page: one file that needs no network, for reading and for keeping."""

from __future__ import annotations

from pipeline.report.page.write import write_page

__all__ = ["write_page"]
