"""RocksDB's own benchmark, db_bench."""
