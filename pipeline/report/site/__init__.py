"""The trend site: the trends of a store as pages that need no server and no network."""

from __future__ import annotations

from pipeline.report.site.write import write_site

__all__ = ["write_site"]
