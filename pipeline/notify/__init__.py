"""Sinks: where regressions are told."""
