"""The workload family tproc-c: HammerDB's variant of TPC-C, run by sysbench or HammerDB."""
