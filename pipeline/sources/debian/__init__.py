"""Debian as a source: binary packages of its suites, and their upstream source code."""

from pipeline.sources.debian.packages import DebianPackages
from pipeline.sources.debian.tarballs import DebianTarballs

__all__ = ["DebianPackages", "DebianTarballs"]
