"""MariaDB with InnoDB: official releases, packed for tests and published on Maven Central."""

from pipeline.targets.mariadb.target import MariaDB

__all__ = ["MariaDB"]
