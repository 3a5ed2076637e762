"""MariaDB with InnoDB: releases of Maven Central, and source packages of Debian."""

from pipeline.targets.mariadb.target import MariaDB

__all__ = ["MariaDB"]
