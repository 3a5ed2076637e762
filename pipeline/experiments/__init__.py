"""Experiments: runs that answer a question (confirm, compare, bisect, backfill, pull requests)."""
