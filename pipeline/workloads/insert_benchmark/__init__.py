"""The Insert Benchmark."""
