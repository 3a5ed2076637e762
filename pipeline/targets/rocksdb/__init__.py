"""RocksDB: packages of Debian, or built from source code; a library that its benchmark runs."""

from pipeline.targets.rocksdb.target import RocksDB

__all__ = ["RocksDB"]
