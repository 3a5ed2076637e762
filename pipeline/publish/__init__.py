"""Prometheus: the contents of the store as time series. They are derived, and can be sent again."""
