"""The machine that measures: its identity, its checks, its processors, its tuning, its lease."""
