"""RocksDB, from Debian's packages or source code: a library inside its benchmark db_bench."""

from pipeline.targets.rocksdb.target import RocksDB

__all__ = ["RocksDB"]
