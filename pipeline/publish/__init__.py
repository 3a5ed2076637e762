"""Prometheus: what the store knows, as time series. Derived, and sent anew at any time."""
