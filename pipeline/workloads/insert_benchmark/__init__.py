"""The workload family Insert Benchmark: inserts, and queries during inserts."""
