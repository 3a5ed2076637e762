"""Debian as a source: the packages of its suites, and the source code that they are made of."""

from pipeline.sources.debian.packages import DebianPackages
from pipeline.sources.debian.tarballs import DebianTarballs

__all__ = ["DebianPackages", "DebianTarballs"]
