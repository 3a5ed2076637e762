"""The workload family Insert Benchmark: inserts beside queries."""
