"""The site: the trends of all results and the report of a night, readable without a server."""

from __future__ import annotations

from pipeline.site.write import write_site

__all__ = ["write_site"]
