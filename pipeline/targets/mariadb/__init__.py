"""MariaDB with InnoDB: releases of Maven Central, source packages of Debian, and git."""

from pipeline.targets.mariadb.target import MariaDB

__all__ = ["MariaDB"]
