"""Experiments: confirm, compare, bisect, backfill and pull request measurements."""
