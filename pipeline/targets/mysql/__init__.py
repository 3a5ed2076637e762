"""MySQL with InnoDB: releases of the npm registry, and Debian's packages."""

from pipeline.targets.mysql.target import MySQL

__all__ = ["MySQL"]
