"""Comparison of two samples, at once or sequentially in blocks."""
