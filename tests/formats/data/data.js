window.BENCHMARK_DATA = {
  "lastUpdate": 1574248406871,
  "entries": {
    "Rust Benchmark": [
      {
        "commit": {
          "author": {"email": "ada@example.org", "name": "ada", "username": "ada"},
          "committer": {"email": "ada@example.org", "name": "ada", "username": "ada"},
          "distinct": true,
          "id": "45d78258e495044a551046f50604da3c893052ce",
          "message": "add benchmark.js example workflow",
          "timestamp": "2019-11-10T00:06:58+09:00",
          "tree_id": "59cf1e78101c09beef06aa1832e1caa09ec52246",
          "url": "https://example.org/commit/45d78258e495044a551046f50604da3c893052ce"
        },
        "date": 1573312140323,
        "tool": "cargo",
        "benches": [
          {"name": "bench_fib_10", "value": 254, "range": "+/- 35", "unit": "ns/iter"},
          {"name": "bench_fib_20", "value": 34001, "range": "+/- 2,802", "unit": "ns/iter"}
        ]
      },
      {
        "commit": {
          "author": {"email": "ada@example.org", "name": "ada", "username": "ada"},
          "committer": {"email": "ada@example.org", "name": "ada", "username": "ada"},
          "distinct": true,
          "id": "b840614fd88743f234aac0dc747a0a70616f450f",
          "message": "add benchmark.js example workflow",
          "timestamp": "2019-11-10T00:10:02+09:00",
          "url": "https://example.org/commit/b840614fd88743f234aac0dc747a0a70616f450f"
        },
        "date": 1573312301293,
        "tool": "cargo",
        "benches": [
          {"name": "bench_fib_10", "value": 257, "range": "+/- 51", "unit": "ns/iter"},
          {"name": "bench_fib_20", "value": 34122, "range": "+/- 2,155", "unit": "ns/iter"}
        ]
      }
    ],
    "Python Benchmark with pytest-benchmark": [
      {
        "commit": {
          "id": "be395fa45085f9d6d7723f39ef4ea4a1e7d2c71b",
          "message": "Merge branch 'pytest-support-and-extra-data'",
          "timestamp": "2019-11-17T14:11:08+09:00"
        },
        "date": 1573968123092,
        "tool": "pytest",
        "benches": [
          {
            "name": "bench.py::test_fib_10",
            "value": 48347.10086431428,
            "unit": "iter/sec",
            "range": "stddev: 0.000020419912819191845",
            "extra": "mean: 0.000020683763496108927 sec\nrounds: 28249"
          }
        ]
      }
    ],
    "Memory": [
      {
        "commit": {
          "id": "be395fa45085f9d6d7723f39ef4ea4a1e7d2c71b",
          "timestamp": "2019-11-17T14:11:08+09:00"
        },
        "date": 1573968124092,
        "tool": "customSmallerIsBetter",
        "benches": [
          {"name": "Memory Used", "value": 100, "unit": "Megabytes", "range": "3"}
        ]
      }
    ]
  }
}
