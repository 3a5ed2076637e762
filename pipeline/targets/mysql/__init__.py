"""MySQL with InnoDB: releases of the npm registry, Debian's packages, and git."""

from pipeline.targets.mysql.target import MySQL

__all__ = ["MySQL"]
