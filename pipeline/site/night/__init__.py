"""The report of one night: a page of the site that also works as a single file."""

from __future__ import annotations

from pipeline.site.night.write import NightReport, read_night, write_page

__all__ = ["NightReport", "read_night", "write_page"]
