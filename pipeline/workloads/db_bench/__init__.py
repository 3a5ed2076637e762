"""The workload family db_bench: RocksDB's own benchmark."""
