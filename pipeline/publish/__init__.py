"""Publish results to Prometheus as time series, derived from the store at any time."""
