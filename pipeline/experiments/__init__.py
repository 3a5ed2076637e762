"""Experiments, which measure on purpose: confirm, compare, bisect, backfill, pull requests."""
