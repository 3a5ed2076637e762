"""Tuning: change kernel settings for steady measurements, and restore them exactly."""
