"""The workload family sysbench: 32 small benchmarks of single kinds of statements."""
