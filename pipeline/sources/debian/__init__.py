"""Debian as a source: binary packages of its releases, and source packages."""

from pipeline.sources.debian.packages import DebianPackages
from pipeline.sources.debian.tarballs import DebianTarballs

__all__ = ["DebianPackages", "DebianTarballs"]
