"""MariaDB with InnoDB: official releases of Maven Central, and Debian's source packages."""

from pipeline.targets.mariadb.target import MariaDB

__all__ = ["MariaDB"]
